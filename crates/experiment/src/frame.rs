//! Results as a table: a row for each point, a column for each number or text of it, and that as a Parquet file.
//!
//! The columns of a `flitway/result/1` are what is no list in its points, named by paths with dots
//! (`packet_latency_ns.p99`); in a `flitway/experiment/1` what is varied comes first. What a point does not have is null.
//! The frames of the Python package are the same. What stands beside the points in the object (the machine, the command, the
//! version) is metadata of the file, under its own names: text as it is, everything else as JSON.
//!
//! ```
//! use flitway_experiment::frame::Frame;
//! let result = serde_json::json!({
//!     "schema": "flitway/result/1",
//!     "points": [{ "verdict": "steady", "packet_latency_ns": { "p99": 640 } }, { "verdict": "saturated" }],
//! });
//! let frame = Frame::new(&result);
//! assert_eq!(frame.names().collect::<Vec<_>>(), ["verdict", "packet_latency_ns.p99"]);
//! assert_eq!(frame.to_parquet()[..4], *b"PAR1");
//! ```

use crate::plot::cell;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Points as rows, and what stands beside them.
#[derive(Clone, Debug)]
pub struct Frame {
    rows: usize,
    columns: Vec<Column>,
    metadata: Vec<(String, String)>,
}

/// The parts of a result that are not metadata: rows are made of them, or they are large and made of the rows.
const NOT_METADATA: [&str; 2] = ["points", "plots"];

impl Frame {
    /// The table of a `flitway/result/1` or a `flitway/experiment/1`; points that have not been run have no row.
    #[must_use]
    pub fn new(result: &Value) -> Self {
        let rows = rows(result);
        // A map keeps the order of the first appearance.
        let names: Map<String, Value> =
            rows.iter().flat_map(Map::keys).map(|name| (name.clone(), Value::Null)).collect();
        let columns = names.into_iter().map(|(name, _)| Column::new(name, &rows)).collect();
        let beside = result.as_object().into_iter().flatten();
        let metadata =
            beside.filter(|(name, _)| !NOT_METADATA.contains(&name.as_str())).map(|(name, value)| {
                (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            });
        Frame { rows: rows.len(), columns, metadata: metadata.collect() }
    }

    /// The content of a CSV file: a line of names and one for each row; what a row does not have is empty.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = self.names().map(cell).collect::<Vec<_>>().join(",") + "\n";
        for row in 0..self.rows {
            let cells: Vec<String> = self.columns.iter().map(|column| column.csv(row)).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The content of a Parquet file: one row group, not compressed.
    #[must_use]
    pub fn to_parquet(&self) -> Vec<u8> {
        self.written().expect("what is written fits its schema, and memory takes all of it")
    }

    fn written(&self) -> Result<Vec<u8>, ParquetError> {
        let fields = self.columns.iter().map(Column::field).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("point").with_fields(fields).build()?;
        let pair = |(name, text): &(String, String)| KeyValue::new(name.clone(), text.clone());
        let properties = WriterProperties::builder()
            .set_created_by(format!("flitway {}", crate::VERSION))
            .set_key_value_metadata(Some(self.metadata.iter().map(pair).collect()))
            .build();
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        if self.rows > 0 {
            let mut group = writer.next_row_group()?;
            for column in &self.columns {
                column.write(&mut group)?;
            }
            group.close()?;
        }
        writer.into_inner()
    }
}

/// The points as rows of one level.
fn rows(result: &Value) -> Vec<Map<String, Value>> {
    let points = |result: &Value| result["points"].as_array().cloned().unwrap_or_default();
    let mut rows = Vec::new();
    for point in points(result) {
        let Some(inner) = point.get("result") else {
            // Of an experiment, and not run; or a point of a run.
            if point.get("key").is_none() {
                rows.push(flat(Map::new(), "", &point));
            }
            continue;
        };
        let values = point["values"].as_object().cloned().unwrap_or_default();
        rows.extend(points(inner).iter().map(|inner| flat(values.clone(), "", inner)));
    }
    rows
}

/// Adds to `row` what is no list in `object`, with `prefix` before its names.
fn flat(mut row: Map<String, Value>, prefix: &str, object: &Value) -> Map<String, Value> {
    for (name, value) in object.as_object().into_iter().flatten() {
        match value {
            Value::Object(_) => row = flat(row, &format!("{prefix}{name}."), value),
            Value::Array(_) => {}
            _ => drop(row.insert(format!("{prefix}{name}"), value.clone())),
        }
    }
    row
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    cells: Cells,
}

/// A value for each row, of one type.
#[derive(Clone, Debug)]
enum Cells {
    Truth(Vec<Option<bool>>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<ByteArray>>),
}

impl Column {
    /// The column `name` of `rows`: of the narrowest type that holds all of its values.
    fn new(name: String, rows: &[Map<String, Value>]) -> Self {
        let values = || rows.iter().map(|row| row.get(&name).filter(|value| !value.is_null()));
        let all = |holds: fn(&Value) -> bool| values().flatten().all(holds);
        let cells = if all(Value::is_boolean) {
            Cells::Truth(values().map(|value| value?.as_bool()).collect())
        } else if all(Value::is_i64) {
            Cells::Whole(values().map(|value| value?.as_i64()).collect())
        } else if all(Value::is_number) {
            Cells::Real(values().map(|value| value?.as_f64()).collect())
        } else {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Cells::Text(values().map(|value| Some(text(value?).as_str().into())).collect())
        };
        Column { name, cells }
    }

    /// The cell of `row` in a CSV file.
    fn csv(&self, row: usize) -> String {
        let shown = match &self.cells {
            Cells::Truth(cells) => cells[row].map(|it| it.to_string()),
            Cells::Whole(cells) => cells[row].map(|it| it.to_string()),
            Cells::Real(cells) => cells[row].map(|it| it.to_string()),
            Cells::Text(cells) => cells[row].as_ref().map(|it| cell(&String::from_utf8_lossy(it.data()))),
        };
        shown.unwrap_or_default()
    }

    fn field(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match &self.cells {
            Cells::Truth(_) => (Physical::BOOLEAN, None),
            Cells::Whole(_) => (Physical::INT64, None),
            Cells::Real(_) => (Physical::DOUBLE, None),
            Cells::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    }

    fn write(&self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError> {
        let mut column = group.next_column()?.expect("the schema has a field for each column");
        match (column.untyped(), &self.cells) {
            (ColumnWriter::BoolColumnWriter(writer), Cells::Truth(cells)) => {
                let (values, levels) = parts(cells);
                writer.write_batch(&values, Some(&levels), None)?;
            }
            (ColumnWriter::Int64ColumnWriter(writer), Cells::Whole(cells)) => {
                let (values, levels) = parts(cells);
                writer.write_batch(&values, Some(&levels), None)?;
            }
            (ColumnWriter::DoubleColumnWriter(writer), Cells::Real(cells)) => {
                let (values, levels) = parts(cells);
                writer.write_batch(&values, Some(&levels), None)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Cells::Text(cells)) => {
                let (values, levels) = parts(cells);
                writer.write_batch(&values, Some(&levels), None)?;
            }
            _ => unreachable!("the schema was made of the same columns"),
        }
        column.close()
    }
}

/// The values that are there, and for each row 1 if it has one.
fn parts<T: Clone>(cells: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    (cells.iter().flatten().cloned().collect(), cells.iter().map(|cell| i16::from(cell.is_some())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::json;

    /// A line for each row, and the metadata.
    fn read(bytes: Vec<u8>) -> (Vec<String>, Vec<(String, Option<String>)>) {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
        (rows, pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect())
    }

    #[test]
    fn a_point_is_a_row_and_what_it_lacks_is_null() {
        let result = json!({
            "schema": "flitway/result/1",
            "machine": { "name": "m" },
            "points": [
                { "load": 0.5, "count": 3, "verdict": "steady", "is": true, "deep": { "a": 1, "list": [1] } },
                { "load": 1, "count": 4, "deep": { "a": 1.5 }, "late": -1 },
            ],
        });
        let (rows, metadata) = read(Frame::new(&result).to_parquet());
        let first = r#"{load: 0.5, count: 3, verdict: "steady", is: true, deep.a: 1.0, late: null}"#;
        let second = "{load: 1.0, count: 4, verdict: null, is: null, deep.a: 1.5, late: -1}";
        assert_eq!(rows, [first, second]);
        let text = |value: &str| Some(value.to_owned());
        assert_eq!(metadata[0], ("schema".to_owned(), text("flitway/result/1")));
        assert_eq!(metadata[1], ("machine".to_owned(), text(r#"{"name":"m"}"#)));
        assert_eq!(metadata.len(), 2);
    }

    #[test]
    fn an_experiment_has_what_is_varied_and_no_row_for_what_was_not_run() {
        let experiment = json!({
            "schema": "flitway/experiment/1",
            "points": [
                { "key": "a", "values": { "packet": "8B", "load": 0.1 }, "result": { "points": [{ "packets": 7 }] } },
                { "key": "b", "values": { "packet": 64, "load": 0.2 }, "result": { "points": [{ "packets": 8 }] } },
                { "key": "c", "values": { "packet": 64, "load": 0.3 } },
            ],
            "plots": [{ "name": "none" }],
        });
        let (rows, metadata) = read(Frame::new(&experiment).to_parquet());
        let of =
            |packet, load, packets| format!(r#"{{packet: "{packet}", load: {load}, packets: {packets}}}"#);
        assert_eq!(rows, [of("8B", "0.1", "7"), of("64", "0.2", "8")]);
        assert_eq!(metadata.len(), 1);
    }

    #[test]
    fn no_points_are_no_rows() {
        let (rows, _) = read(Frame::new(&json!({ "schema": "flitway/result/1", "points": [] })).to_parquet());
        assert!(rows.is_empty());
    }
}
