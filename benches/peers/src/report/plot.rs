//! Plots as SVG: how costs grow with size, on logarithmic scales, and ratios as bars.
//!
//! Lines and letters take the colour of the page where the page lets them, and a middle grey that
//! can be read on white and on black where it does not.

use super::amount;
use crate::measure::{Section, Unit, median};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// The height of a bar with what is around it, and where bars begin.
const BAR: f64 = 18.0;
const BARS_LEFT: f64 = 390.0;
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// Colours that differ in light too, and can be seen on white and on black; sapwood's comes first.
const COLOURS: [&str; 8] =
    ["#d1495b", "#3b82c4", "#2a9d76", "#c98a1b", "#8e6bbf", "#1fa7b8", "#8a5a3c", "#7d8597"];
const STYLE: &str = "text{fill:#7a7f87;font:12px system-ui,sans-serif}\
    .title{font-size:15px;font-weight:600}.axis{stroke:#7a7f87}.grid{stroke:#7a7f87;opacity:.25}\
    @media(prefers-color-scheme:dark){text{fill:#c3c8d0}.axis,.grid{stroke:#c3c8d0}}\
    @media(prefers-color-scheme:light){text{fill:#3c4149}.axis,.grid{stroke:#3c4149}}";

/// A plot.
pub struct Plot {
    name: &'static str,
    /// What it shows.
    pub title: String,
    /// The drawing.
    pub svg: String,
}

impl Plot {
    /// Gives the name of its file.
    pub fn file(&self) -> String {
        format!("{}.svg", self.name)
    }
}

/// A line of a plot: a name, and its points.
type Line = (String, Vec<(f64, f64)>);

/// Draws all plots that the sections have enough for.
pub fn all(sections: &[Section]) -> Vec<Plot> {
    let figures = [
        ("append", "One durable append, by messages in the branch"),
        ("fork", "One fork, by messages in the branch"),
        ("walk", "A walk with bodies, time for one message, by messages"),
        ("open", "Opening a store and reading the newest message, by messages"),
        ("gc", "Maintenance (gc, VACUUM, compaction), by messages"),
    ];
    let mut plots = Vec::new();
    for (name, title) in figures {
        let lines = lines(sections, name);
        if lines.iter().any(|(_, points)| points.len() > 1) {
            plots.push(Plot { name, title: title.to_owned(), svg: growth(title, &lines) });
        }
    }
    let contests: Vec<&Section> = sections.iter().filter(|section| section.is_contest).collect();
    if !contests.is_empty() {
        let title = "The median peer and the best one, as multiples of sapwood".to_owned();
        plots.push(Plot { name: "ratios", svg: ratios(&title, &contests), title });
    }
    plots
}

/// Collects the points of each contestant in a figure.
fn lines(sections: &[Section], figure: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for section in sections {
        let Some(place) = section.figure.filter(|place| place.name == figure) else { continue };
        for row in &section.rows {
            let point = (place.size, row.median());
            match lines.iter_mut().find(|(name, _)| *name == row.name) {
                Some((_, points)) => points.push(point),
                None => lines.push((row.name.clone(), vec![point])),
            }
        }
    }
    lines
}

/// A drawing in the making.
struct Drawing(String);

impl Drawing {
    fn new(title: &str, height: f64) -> Drawing {
        let size = format!("viewBox=\"0 0 {WIDTH} {height}\" role=\"img\"");
        let mut drawing = Drawing(format!("<svg xmlns=\"{NAMESPACE}\" {size}>"));
        drawing.add(format!("<title>{title}</title><style>{STYLE}</style>"));
        drawing.add(format!("<text class=\"title\" x=\"{LEFT}\" y=\"20\">{title}</text>"));
        drawing
    }

    fn add(&mut self, element: String) {
        self.0.push_str(&element);
        self.0.push('\n');
    }

    fn line(&mut self, class: &str, path: &str) {
        self.add(format!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"");
        self.add(format!("<text {place}>{text}</text>"));
    }

    fn rectangle(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        let place = format!("x=\"{x:.1}\" y=\"{y:.1}\"");
        let size = format!("width=\"{width:.1}\" height=\"{height:.1}\"");
        self.add(format!("<rect {place} {size} fill=\"{colour}\"/>"));
    }

    fn dot(&mut self, x: f64, y: f64, colour: &str) {
        self.add(format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"));
    }

    fn curve(&mut self, points: &[(f64, f64)], width: f64, colour: &str) {
        let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let pen = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"");
        self.add(format!("<polyline {pen} points=\"{}\"/>", places.join(" ")));
    }

    fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Draws lines on two logarithmic scales.
fn growth(title: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|(_, points)| points);
    let sizes = bounds(points().map(|point| point.0));
    let costs = bounds(points().map(|point| point.1));
    let x = |size: f64| LEFT + share(size, sizes) * (WIDTH - LEFT - RIGHT);
    let y = |cost: f64| HEIGHT - BOTTOM - share(cost, costs) * (HEIGHT - TOP - BOTTOM);
    let mut drawing = Drawing::new(title, HEIGHT);
    for power in powers(sizes) {
        let foot = HEIGHT - BOTTOM;
        drawing.line("grid", &format!("M{:.1} {TOP}V{foot}", x(power)));
        drawing.text(x(power), foot + 18.0, "middle", &count(power));
    }
    for power in powers(costs) {
        drawing.line("grid", &format!("M{LEFT} {:.1}H{}", y(power), WIDTH - RIGHT));
        let cost = amount(Unit::Time(""), power).replace(".00", "").replace(".0", "");
        drawing.text(LEFT - 8.0, y(power) + 4.0, "end", &cost);
    }
    for (place, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        let places: Vec<(f64, f64)> = points.iter().map(|point| (x(point.0), y(point.1))).collect();
        drawing.curve(&places, if place == 0 { 3.0 } else { 1.6 }, colour);
        for (x, y) in places {
            drawing.dot(x, y, colour);
        }
        let (x, y) = (WIDTH - RIGHT + 12.0, TOP + 18.0 * place as f64);
        drawing.rectangle(x, y, 14.0, 4.0, colour);
        drawing.text(x + 20.0, y + 6.0, "start", name);
    }
    drawing.finish()
}

/// Draws, for each section, how the median and the best of the others compare with the first row.
fn ratios(title: &str, sections: &[&Section]) -> String {
    let rows: Vec<(&str, f64, f64)> = sections
        .iter()
        .map(|section| {
            let others = 1..section.rows.len();
            let others = others.filter(|row| !section.rows[*row].is_beside);
            let ratios: Vec<f64> = others.map(|row| section.ratio(row, 0)).collect();
            let best = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            (section.title.as_str(), median(ratios), best)
        })
        .collect();
    let height = TOP + BAR * rows.len() as f64 + BOTTOM;
    let foot = height - BOTTOM;
    let limits = bounds(rows.iter().flat_map(|row| [row.1, row.2, 1.0]));
    let x = |ratio: f64| BARS_LEFT + share(ratio, limits) * (WIDTH - BARS_LEFT - 60.0);
    let mut drawing = Drawing::new(title, height);
    for power in powers(limits) {
        drawing.line("grid", &format!("M{:.1} {TOP}V{foot}", x(power)));
        drawing.text(x(power), foot + 18.0, "middle", &format!("{} x", short(power)));
    }
    for (place, (name, middle, best)) in rows.iter().enumerate() {
        let y = TOP + BAR * place as f64;
        let (one, end) = (x(1.0), x(*middle));
        let colour = if *middle >= 1.0 { COLOURS[2] } else { COLOURS[0] };
        drawing.text(BARS_LEFT - 8.0, y + 12.0, "end", name);
        drawing.rectangle(one.min(end), y + 3.0, (end - one).abs().max(1.0), 10.0, colour);
        drawing.dot(x(*best), y + 8.0, COLOURS[1]);
    }
    drawing.line("axis", &format!("M{:.1} {TOP}V{foot}", x(1.0)));
    let meaning = "bar: the median peer; dot: the best; right of 1 x: sapwood is better";
    drawing.text(LEFT, foot + 38.0, "start", meaning);
    drawing.finish()
}

/// Gives the powers of ten around some values.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite() && *value > 0.0);
    let (least, most) = finite
        .fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    if least > most {
        return (1.0, 10.0);
    }
    let (low, high) = (least.log10().floor(), most.log10().ceil());
    (10f64.powf(low), 10f64.powf(if high > low { high } else { low + 1.0 }))
}

fn share(value: f64, (low, high): (f64, f64)) -> f64 {
    (value.max(low) / low).log10() / (high / low).log10()
}

fn powers((low, high): (f64, f64)) -> impl Iterator<Item = f64> {
    let exponent = |value: f64| value.log10().round() as i32;
    (exponent(low)..=exponent(high)).map(|power| 10f64.powi(power))
}

/// Writes a power of ten with as many digits as it has.
fn short(power: f64) -> String {
    let behind = (-power.log10().round()).max(0.0) as usize;
    format!("{power:.behind$}")
}

fn count(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{:.0} M", value / 1e6),
        value if value >= 1e3 => format!("{:.0} k", value / 1e3),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Figure, Round};

    #[test]
    fn lines_are_collected_over_sections() {
        let mut sections = Vec::new();
        for size in [10.0, 100.0] {
            let mut section = Section::new("t", Unit::Time("item"), &["a", "b"]);
            section.figure = Some(Figure { name: "walk", size });
            section.interleave(1, &mut |place, _| Ok(Round::value(place as f64 + 1.0))).unwrap();
            sections.push(section);
        }
        let found = lines(&sections, "walk");
        assert_eq!(found[1], ("b".to_owned(), vec![(10.0, 2.0), (100.0, 2.0)]));
        let plots = all(&sections);
        assert_eq!(plots.len(), 1);
        assert!(plots[0].svg.starts_with("<svg") && plots[0].svg.contains("polyline"));
    }

    #[test]
    fn scales_end_with_powers_of_ten() {
        assert_eq!(bounds([3.0, 250.0].into_iter()), (1.0, 1000.0));
        assert_eq!(powers((1.0, 1000.0)).count(), 4);
        assert_eq!(share(10.0, (1.0, 100.0)), 0.5);
        let written: Vec<String> = powers((0.001, 100.0)).map(short).collect();
        assert_eq!(written, ["0.001", "0.01", "0.1", "1", "10", "100"]);
    }
}
