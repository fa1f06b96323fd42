const result = JSON.parse(byId("result").textContent);
const csv = (name) => [...byId(name).querySelectorAll("details.data tr")].map((row) =>
  [...row.cells].map((cell) => quoted(cell.dataset.value ?? cell.textContent)).join(",")).join("\n") + "\n";
for (const figure of document.querySelectorAll("figure[data-figure]")) {
  figure.querySelector("button.csv").addEventListener("click", () =>
    save(result.experiment.name + "-" + figure.id.slice(4), csv(figure.id)));
}
window.flitway = { result, csv };
