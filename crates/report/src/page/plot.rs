//! Curves as SVG. Axes, grid and lines are drawn by `plotters`; marks that can be pointed at, names beside the lines and
//! theory are added here, where it is known which pixel a value has. Colours are those of the page's style sheet.

use super::escape;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;
use std::fmt::Write;
use std::ops::Range;

/// Height of a figure without the names of theory above it; the browser scales it.
const HEIGHT: u32 = 340;

/// Room at the left for values and the title of the axis, above, and below.
const MARGINS: (u32, u32, u32) = (74, 12, 46);

/// Width of what is plotted.
const WIDTH: u32 = 362;

/// Room at the right for the names of lines: at least, and at most.
const NAMES: (usize, usize) = (96, 260);

/// Pixels of a letter of a name, about.
const LETTER: f64 = 6.4;

/// Pixels between two names.
const LINE_HEIGHT: f64 = 14.0;

/// Colours that the style sheet has a name for, as they stand in the SVG that `plotters` writes.
const INK: RGBColor = RGBColor(1, 1, 1);
const GRID: RGBColor = RGBColor(2, 2, 2);

/// How many lines have a colour of their own.
pub(super) const COLOURS: usize = 6;

/// How an axis counts.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) title: String,
    pub(super) range: Range<f64>,
    pub(super) is_log: bool,
    /// A value of this axis beside a tick.
    pub(super) format: fn(f64) -> String,
    /// The names of 0, 1, ..., where the values are no numbers.
    pub(super) names: Vec<String>,
}

impl Axis {
    /// What is written beside the axis.
    fn title(&self) -> String {
        if self.is_log { format!("{} (log)", self.title) } else { self.title.clone() }
    }

    fn tick(&self, value: f64) -> String {
        // What counts in factors has ticks of its own.
        if self.is_log {
            return String::new();
        }
        if self.names.is_empty() {
            return (self.format)(value);
        }
        let is_name = (value - value.round()).abs() < 1e-6 && value >= -0.1;
        let name = is_name.then(|| self.names.get(value.round() as usize)).flatten();
        name.cloned().unwrap_or_default()
    }
}

/// A line with its marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) colour: usize,
    pub(super) marks: Vec<Mark>,
    /// Whether each mark is shown, to be pointed at.
    pub(super) has_marks: bool,
}

/// A mark of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Mark {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Half of its confidence interval.
    pub(super) ci95: Option<f64>,
    /// What is said of it when it is pointed at.
    pub(super) tip: String,
    /// It does not mean what the others mean: a saturated point.
    pub(super) is_hollow: bool,
}

/// What theory says.
#[derive(Clone, Debug)]
pub(super) struct Theory {
    pub(super) name: String,
    pub(super) at: At,
}

/// Where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// Up and down.
    X(f64),
    /// Across.
    Y(f64),
    /// From the origin on, up to a value of the axis across.
    Rising { slope: f64, until: f64 },
}

/// A figure.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    /// What it shows, for those who do not see it.
    pub(super) label: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
    pub(super) theory: Vec<Theory>,
}

/// Pixels of a value.
type Pixel<'a> = &'a dyn Fn(f64, f64) -> (f64, f64);

impl Plot {
    /// As an `svg` element.
    pub(super) fn svg(&self) -> String {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, self.size()).into_drawing_area();
            let (x, y) = (&self.x.range, &self.y.range);
            let (x, y) = (x.start..x.end, y.start..y.end);
            // A figure that cannot be drawn has a range without width, and stays empty.
            let _ = match (self.x.is_log, self.y.is_log) {
                (false, false) => self.draw(&root, x, y),
                (false, true) => self.draw(&root, x, y.log_scale()),
                (true, false) => self.draw(&root, x.log_scale(), y),
                (true, true) => self.draw(&root, x.log_scale(), y.log_scale()),
            };
        }
        let overlay = self.overlay();
        let text = text.replace("#010101", "var(--ink)").replace("#020202", "var(--grid)");
        let start = text.find("<svg").unwrap_or(0);
        let body = text[start..].find('>').map_or("", |end| &text[start + end + 1..]);
        let body = body.trim_end().strip_suffix("</svg>").unwrap_or(body);
        let (width, height) = self.size();
        // `plotters` writes a gap where it means none.
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{}{overlay}</svg>",
            escape(&self.label),
            body.replace('\n', "")
        )
    }

    /// As a file of its own, with the rules of `style`, on a ground of the colour of the page.
    pub(super) fn file(&self, style: &str) -> String {
        let svg = self.svg();
        let body = svg.split_once('>').map_or("", |(_, body)| body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-8 -4 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" \
             aria-label=\"{2}\">\n<style>\n{style}svg {{ font-family: sans-serif; }}\n</style>\n<rect x=\"-8\" y=\"-4\" width=\"{0}\" \
             height=\"{1}\" fill=\"var(--page)\"/>\n{3}\n",
            self.size().0 + 8,
            self.size().1 + 8,
            escape(&self.label),
            body.replace("><", ">\n<"),
        )
    }

    /// Room for the names of lines: as much as they need.
    fn names_room(&self) -> u32 {
        let sign = if self.has_signs() { SIGN } else { 0.0 };
        let names = self.lines.iter().map(|line| &line.name).chain(self.theory.iter().map(|it| &it.name));
        let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
        ((longest as f64 * LETTER + sign) as usize + 12).clamp(NAMES.0, NAMES.1) as u32
    }

    /// Whether colours alone do not tell the lines apart.
    fn has_signs(&self) -> bool {
        self.lines.len() > COLOURS
    }

    fn size(&self) -> (u32, u32) {
        (MARGINS.0 + WIDTH + self.names_room(), self.bottom() + MARGINS.2 + self.list_height())
    }

    /// Whether the names along the axis have no room there: they have numbers then, and stand below in a list.
    fn has_list(&self) -> bool {
        let letters: usize = self.x.names.iter().map(|name| name.chars().count() + 2).sum();
        letters as f64 * LETTER > f64::from(WIDTH)
    }

    fn list_height(&self) -> u32 {
        if self.has_list() { self.x.names.len() as u32 * LINE_HEIGHT as u32 + 8 } else { 0 }
    }

    /// Rows above the plot that the title of the axis up takes: none where it stands along it.
    fn title_rows(&self) -> u32 {
        let length = self.y.title().chars().count() as f64 * LETTER * 1.1;
        u32::from(length > f64::from(HEIGHT - MARGINS.1 - MARGINS.2))
    }

    fn x_tick(&self, value: f64) -> String {
        let tick = self.x.tick(value);
        if self.has_list() && !tick.is_empty() { format!("{:.0}", value + 1.0) } else { tick }
    }

    /// What theory says that stands up and down, with its name, from the left on.
    fn uprights(&self) -> Vec<(f64, &str)> {
        let range = &self.x.range;
        let upright = |theory: &'_ Theory| match theory.at {
            At::X(at) if range.contains(&at) || at == range.end => Some(at),
            _ => None,
        };
        let all = self.theory.iter().filter_map(|theory| Some((upright(theory)?, theory.name.as_str())));
        let mut all: Vec<(f64, &str)> = all.collect();
        all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        all
    }

    /// The upper edge of what is plotted, and the lower one.
    fn top(&self) -> u32 {
        MARGINS.1 + (self.uprights().len() as u32 + self.title_rows()) * LINE_HEIGHT as u32
    }

    fn bottom(&self) -> u32 {
        self.top() + HEIGHT - MARGINS.1 - MARGINS.2
    }

    fn draw<X, Y>(
        &self,
        root: &DrawingArea<SVGBackend<'_>, Shift>,
        x: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = X, Value = f64>,
        y: impl plotters::coord::ranged1d::AsRangedCoord<CoordDescType = Y, Value = f64>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let mut chart = ChartBuilder::on(root)
            .margin_top(self.top())
            .margin_right(self.names_room())
            .margin_bottom(self.list_height())
            .x_label_area_size(MARGINS.2)
            .y_label_area_size(MARGINS.0)
            .build_cartesian_2d(x, y)?;
        let style = ("sans-serif", 15).into_font().color(&INK);
        let mut mesh = chart.configure_mesh();
        if self.y.is_log {
            mesh.disable_y_mesh();
        }
        mesh.disable_x_mesh()
            .x_labels(if self.x.names.is_empty() { 6 } else { self.x.names.len() + 2 })
            .y_labels(12)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(GRID)
            .label_style(style.clone())
            .axis_desc_style(style)
            .x_desc(self.x.title())
            .y_desc(if self.title_rows() == 0 { self.y.title() } else { String::new() })
            .x_label_formatter(&|value| self.x_tick(*value))
            .y_label_formatter(&|value| self.y.tick(*value))
            .draw()?;
        root.present()?;
        Ok(())
    }

    /// Where a value is, as `plotters` draws it: the plotting area lies between the labels and the margins.
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let part = |axis: &Axis, value: f64| {
            let scale = |value: f64| if axis.is_log { value.max(1e-300).ln() } else { value };
            let (start, end) = (scale(axis.range.start), scale(axis.range.end));
            ((scale(value) - start) / (end - start)).clamp(0.0, 1.0)
        };
        let (left, right) = (f64::from(MARGINS.0), f64::from(MARGINS.0 + WIDTH));
        let (top, bottom) = (f64::from(self.top()), f64::from(self.bottom()));
        (left + part(&self.x, x) * (right - left), bottom - part(&self.y, y) * (bottom - top))
    }

    fn overlay(&self) -> String {
        let pixel: Pixel<'_> = &|x, y| self.place(x, y);
        let mut svg = self.log_ticks();
        let mut names: Vec<Name> = Vec::new();
        self.draw_title_and_list(&mut svg);
        self.draw_uprights(&mut svg);
        for theory in &self.theory {
            self.draw_theory(theory, pixel, &mut svg, &mut names);
        }
        let right = f64::from(MARGINS.0 + WIDTH);
        for line in &self.lines {
            draw_line(line, self.x.names.is_empty(), pixel, &mut svg);
            if let Some(last) = line.marks.last() {
                let (x, y) = pixel(last.x, last.y);
                // Beside the end of the line, unless all names stand at the right with a sign.
                let x = if self.has_signs() { right } else { self.beside_uprights(x) };
                names.push(Name {
                    at: (x + 7.0, y),
                    text: line.name.clone(),
                    class: format!("name n{}", line.colour % COLOURS),
                    sign: self.has_signs().then(|| line_class(line.colour)),
                });
            }
        }
        draw_names(names, (f64::from(self.top()), f64::from(self.bottom())), &mut svg);
        svg
    }

    /// The ticks of axes that count in factors, with a line across for each up and down.
    fn log_ticks(&self) -> String {
        let mut svg = String::new();
        let (left, right) = (MARGINS.0, MARGINS.0 + WIDTH);
        for value in if self.y.is_log { log_ticks(&self.y.range, 12) } else { Vec::new() } {
            let y = self.place(self.x.range.start, value).1;
            // Writing to a string does not fail.
            let _ = write!(
                svg,
                "<path class=\"rule\" d=\"M{left} {y:.1}L{right} {y:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                left - 10,
                y + 4.0,
                escape(&(self.y.format)(value))
            );
        }
        let bottom = self.bottom();
        for value in if self.x.is_log { log_ticks(&self.x.range, 7) } else { Vec::new() } {
            let x = self.place(value, self.y.range.start).0;
            let _ = write!(
                svg,
                "<path class=\"rule\" d=\"M{x:.1} {bottom}L{x:.1} {}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 5,
                bottom + 19,
                escape(&(self.x.format)(value))
            );
        }
        svg
    }

    /// Where names of lines stand that end at `x`: right of what theory says that would go through one of them.
    fn beside_uprights(&self, x: f64) -> f64 {
        let longest = self.lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
        let width = 7.0 + longest as f64 * LETTER;
        let places = self.uprights().into_iter().map(|(at, _)| self.place(at, self.y.range.start).0);
        places.fold(x, |x, at| if (x..x + width).contains(&at) { at } else { x })
    }

    /// The title of the axis up, where it is too long to stand along it, and the names along the other one, likewise.
    fn draw_title_and_list(&self, svg: &mut String) {
        let mut text = |x: u32, y: f64, text: &str| {
            // Writing to a string does not fail.
            let _ = write!(svg, "<text class=\"tick\" x=\"{x}\" y=\"{y:.1}\">{}</text>", escape(text));
        };
        if self.title_rows() > 0 {
            text(0, f64::from(MARGINS.1), &self.y.title());
        }
        let (width, _) = self.size();
        let room = (f64::from(width) / LETTER) as usize;
        let names = self.x.names.iter().zip(1..).filter(|_| self.has_list());
        for (name, number) in names {
            let mut line = format!("{number}: {name}");
            if line.chars().count() > room {
                line = line.chars().take(room - 1).chain(['…']).collect();
            }
            let y = f64::from(self.bottom() + MARGINS.2) + f64::from(number) * LINE_HEIGHT;
            text(0, y, &line);
        }
    }

    /// Each name stands above the plot, right of its line and in a row of its own: on no mark and on no other line.
    fn draw_uprights(&self, svg: &mut String) {
        for (row, (at, name)) in (0_u32..).zip(self.uprights()) {
            let (x, bottom) = self.place(at, self.y.range.start);
            let y = f64::from(MARGINS.1) + f64::from(row + self.title_rows()) * LINE_HEIGHT;
            // Writing to a string does not fail.
            let _ = write!(
                svg,
                "<path class=\"theory\" d=\"M{x:.1} {bottom:.1}L{x:.1} {:.1}\"/><text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                y - 7.0,
                x + 4.0,
                y + 2.0,
                escape(name)
            );
        }
    }

    fn draw_theory(&self, theory: &Theory, pixel: Pixel<'_>, svg: &mut String, names: &mut Vec<Name>) {
        let (x, y) = (&self.x.range, &self.y.range);
        let ends = match theory.at {
            At::Y(at) if y.contains(&at) => [pixel(x.start, at), pixel(x.end, at)],
            At::Rising { slope, until } => [pixel(0.0, 0.0), pixel(until, slope * until)],
            At::X(_) | At::Y(_) => return,
        };
        let [(x1, y1), (x2, y2)] = ends;
        // Writing to a string does not fail.
        let _ = write!(svg, "<path class=\"theory\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
        names.push(Name {
            at: (f64::from(MARGINS.0 + WIDTH) + 7.0, y2),
            text: theory.name.clone(),
            class: "name".to_owned(),
            sign: None,
        });
    }
}

/// The class of a line: a colour, and from the seventh line on a pattern too.
fn line_class(colour: usize) -> String {
    match colour / COLOURS {
        0 => format!("line l{colour}"),
        turn => format!("line l{} d{}", colour % COLOURS, (turn - 1) % 2 + 1),
    }
}

/// A name that stands beside its line.
struct Name {
    at: (f64, f64),
    text: String,
    class: String,
    /// The class of a piece of its line that stands before it.
    sign: Option<String>,
}

/// Width of such a piece, with a gap.
const SIGN: f64 = 26.0;

/// Draws the marks of `line`, joined if that is what the axis across is for: names are no scale.
fn draw_line(line: &Line, is_joined: bool, pixel: Pixel<'_>, svg: &mut String) {
    let real: Vec<&Mark> = line.marks.iter().filter(|mark| mark.y.is_finite()).collect();
    if is_joined {
        draw_path(&real, line.colour, pixel, svg);
    } else {
        for mark in &real {
            let half = mark.ci95.unwrap_or(0.0);
            let [(x, low), (_, high)] = [-half, half].map(|by| pixel(mark.x, mark.y + by));
            // Writing to a string does not fail.
            let _ = write!(
                svg,
                "<path class=\"{}\" d=\"M{x:.1} {low:.1}L{x:.1} {high:.1}\"/>",
                line_class(line.colour)
            );
        }
    }
    for mark in real.iter().filter(|_| line.has_marks || !is_joined) {
        let (x, y) = pixel(mark.x, mark.y);
        let hollow = if mark.is_hollow { " hollow" } else { "" };
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<circle class=\"mark m{}{hollow}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" tabindex=\"0\" \
             data-tip=\"{}\"/>",
            line.colour % COLOURS,
            escape(&mark.tip)
        );
    }
}

/// A line through `real` marks, with a band of their intervals.
fn draw_path(real: &[&Mark], line_colour: usize, pixel: Pixel<'_>, svg: &mut String) {
    let colour = line_colour % COLOURS;
    // A band joins neighbours only: between two intervals that are known there may be one that is not.
    for banded in real.chunk_by(|a, b| a.ci95.is_some() == b.ci95.is_some()) {
        if banded.len() < 2 || banded[0].ci95.is_none() {
            continue;
        }
        let edge = |mark: &&Mark, sign: f64| {
            let (x, y) = pixel(mark.x, mark.y + sign * mark.ci95.unwrap_or(0.0));
            format!("{x:.1} {y:.1}")
        };
        let upper = banded.iter().map(|mark| edge(mark, 1.0));
        let lower = banded.iter().rev().map(|mark| edge(mark, -1.0));
        let path: Vec<String> = upper.chain(lower).collect();
        // Writing to a string does not fail.
        let _ = write!(svg, "<path class=\"band b{colour}\" d=\"M{}Z\"/>", path.join("L"));
    }
    let path: Vec<String> = real
        .iter()
        .map(|mark| {
            let (x, y) = pixel(mark.x, mark.y);
            format!("{x:.1} {y:.1}")
        })
        .collect();
    let _ = write!(svg, "<path class=\"{}\" d=\"M{}\"/>", line_class(line_colour), path.join("L"));
}

/// Names beside the ends of their lines, moved apart where they would cover each other.
fn draw_names(mut names: Vec<Name>, (top, bottom): (f64, f64), svg: &mut String) {
    names.sort_by(|a, b| a.at.1.total_cmp(&b.at.1));
    let mut before = top - 10.0;
    let mut places: Vec<f64> = names
        .iter()
        .map(|name| {
            before = name.at.1.max(before + LINE_HEIGHT);
            before
        })
        .collect();
    let mut limit = bottom + 4.0;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - LINE_HEIGHT;
    }
    for (Name { at: (x, _), text, class, sign }, y) in names.iter().zip(places) {
        let mut x = *x;
        // Writing to a string does not fail.
        if let Some(sign) = sign {
            let _ = write!(svg, "<path class=\"{sign}\" d=\"M{x:.1} {y:.1}L{:.1} {y:.1}\"/>", x + SIGN - 6.0);
            x += SIGN;
        }
        let _ =
            write!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>", y + 4.0, escape(text));
    }
}

/// Values to be written on an axis that counts in factors, at most about `room`: 1, 2 and 5 of each decade, else decades,
/// else some of them.
fn log_ticks(range: &Range<f64>, room: usize) -> Vec<f64> {
    let (first, last) = (range.start.log10().floor() as i32, range.end.log10().ceil() as i32);
    let is_inside = |value: &f64| *value >= range.start * (1.0 - 1e-9) && *value <= range.end * (1.0 + 1e-9);
    let of = |factors: &[f64], step: usize| -> Vec<f64> {
        let decades = (first..=last).step_by(step).map(|decade| 10_f64.powi(decade));
        decades
            .flat_map(|decade| factors.iter().map(move |factor| factor * decade))
            .filter(is_inside)
            .collect()
    };
    let fine = of(&[1.0, 2.0, 5.0], 1);
    if fine.len() <= room {
        return fine;
    }
    (1..).map(|step| of(&[1.0], step)).find(|ticks| ticks.len() <= room).unwrap_or_default()
}

/// A range that shows all `values` of an axis that counts in factors, whole decades or their halves.
pub(super) fn log_range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let found = values.filter(|value| value.is_finite() && *value > 0.0);
    let (least, most) = found.fold((f64::INFINITY, 0.0_f64), |(a, b), value| (a.min(value), b.max(value)));
    if least > most {
        return 1.0..10.0;
    }
    let step = |value: f64, up: bool| {
        let decade = 10_f64.powf(value.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
        let above = steps.into_iter().find(|edge| *edge >= value);
        let below = steps.into_iter().rev().find(|edge| *edge <= value);
        if up { above } else { below }.unwrap_or(value)
    };
    let (start, end) = (step(least, false), step(most * 1.02, true));
    if end > start { start..end } else { start..start * 10.0 }
}

/// A range from zero that shows all `values`, with a little room above.
pub(super) fn zero_range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let most = values.filter(|value| value.is_finite()).fold(0.0_f64, f64::max);
    0.0..if most > 0.0 { most * 1.08 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers `x` and `y` of the element of `svg` that ends with `text`.
    fn place_of(svg: &str, text: &str) -> (f64, f64) {
        let element = svg.split("<text ").find(|part| part.contains(&format!(">{text}<")));
        let number = |key: &str| {
            let (_, rest) = element?.split_once(&format!(" {key}=\""))?;
            rest.split_once('"')?.0.parse::<f64>().ok()
        };
        (number("x").expect("an x"), number("y").expect("a y"))
    }

    #[test]
    fn names_of_theory_stand_above_the_plot() {
        let axis = |end: f64| Axis {
            title: String::new(),
            range: 0.0..end,
            is_log: false,
            format: |value| value.to_string(),
            names: Vec::new(),
        };
        let marks = [0.2, 0.88].map(|x| Mark { x, y: x, ..Mark::default() }).into();
        let lines = vec![Line { name: "mean".to_owned(), marks, has_marks: true, ..Line::default() }];
        let bound = |name: &str, at: f64| Theory { name: name.to_owned(), at: At::X(at) };
        let theory = vec![bound("late", 0.95), bound("early", 0.9), bound("outside", 2.0)];
        let plot = Plot { label: String::new(), x: axis(1.0), y: axis(1.0), lines, theory };
        let svg = plot.svg();
        let (early, late, mean) = (place_of(&svg, "early"), place_of(&svg, "late"), place_of(&svg, "mean"));
        assert!(early.1 + LINE_HEIGHT <= late.1 && early.0 < late.0, "{early:?} {late:?}");
        assert!(late.1 < plot.place(0.0, 1.0).1 && mean.1 > plot.place(0.0, 1.0).1, "{late:?} {mean:?}");
        assert!(!svg.contains("outside"));
        assert!(mean.0 > plot.place(0.95, 0.0).0, "{mean:?} lies across no line");
    }

    #[test]
    fn names_are_no_scale_and_stand_below_where_they_have_no_room() {
        const TITLE: &str = "a title that is much too long to stand beside an axis of this height";
        let svg = |names: &[&str]| {
            let axis = |title: &str, names: Vec<String>| Axis {
                title: title.to_owned(),
                range: -0.5..1.5,
                is_log: false,
                format: |value| value.to_string(),
                names,
            };
            let marks = [0.0, 1.0].map(|x| Mark { x, y: x, ..Mark::default() }).into();
            let lines = vec![Line { marks, ..Line::default() }];
            let names = names.iter().map(|&name| name.to_owned()).collect();
            let (x, y) = (axis("x", names), axis(TITLE, Vec::new()));
            let plot = Plot { label: String::new(), x, y, lines, theory: Vec::new() };
            (plot.svg(), plot.size().1)
        };
        let long = "a name of more than a third of the width of a figure";
        let (below, height) = svg(&[long, "b"]);
        assert!(place_of(&below, &format!("1: {long}")).1 < place_of(&below, "2: b").1);
        assert!(place_of(&below, "2: b").1 < f64::from(height));
        let (beside, _) = svg(&["a", "b"]);
        assert!(!beside.contains("1: a"));
        // One mark each, and nothing from one to the other.
        let path = beside.split("class=\"line l0\" d=\"").nth(1).unwrap_or_default();
        assert_eq!(path.split('"').next().map(|path| path.matches('L').count()), Some(1));
        assert_eq!(beside.matches("class=\"line l0\"").count(), 2);
        assert_eq!(place_of(&beside, TITLE).0, 0.0);
    }

    #[test]
    fn axes_in_factors_have_ticks_that_fit() {
        assert_eq!(log_ticks(&(2e3..1e4), 12), [2e3, 5e3, 1e4]);
        assert_eq!(log_ticks(&(5.0..10.0), 12), [5.0, 10.0]);
        assert_eq!(log_ticks(&(1.0..1e5), 7), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(log_ticks(&(1.0..1e7), 4), [1.0, 1e2, 1e4, 1e6]);
    }
}
