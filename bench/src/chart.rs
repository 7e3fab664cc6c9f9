//! A chart of lines as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 360.0;
/// Room for the names of values.
const MARGIN: f64 = 60.0;
const COLOURS: [&str; 5] = ["#777777", "#0a6fb8", "#c2571a", "#999933", "#2b8a3e"];

/// Lines over seconds from 0 on, each with its name.
pub(crate) fn lines(title: &str, lines: &[(&str, &[f64])]) -> String {
    let most = lines.iter().flat_map(|(_, values)| *values).copied().fold(1.0, f64::max);
    let longest = lines.iter().map(|(_, values)| values.len()).max().unwrap_or(1).max(2);
    #[expect(clippy::cast_precision_loss, reason = "seconds of a run are few")]
    let place = |second: usize, value: f64| {
        let x = MARGIN + (WIDTH - MARGIN) * second as f64 / (longest - 1) as f64;
        (x, HEIGHT - MARGIN / 2.0 - (HEIGHT - MARGIN) * value / most)
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{MARGIN}\" y=\"16\">{title}, each second</text>\n",
        WIDTH + 20.0,
        HEIGHT + 20.0 * f64::from(u32::try_from(lines.len()).unwrap_or_default()),
    );
    for value in [0.0, most / 2.0, most] {
        let (x, y) = place(0, value);
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" y1=\"{y:.1}\" x2=\"{WIDTH}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"4\" y=\"{:.1}\">{value:.0}</text>",
            y + 4.0
        );
    }
    for ((name, values), (colour, row)) in lines.iter().zip(COLOURS.iter().zip(0_u32..)) {
        let points = values.iter().enumerate().map(|(second, value)| place(second, *value));
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let y = HEIGHT + 20.0 * f64::from(row);
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{}\"/>\
             <text x=\"{MARGIN}\" y=\"{y}\" fill=\"{colour}\">{name}</text>",
            points.join(" ")
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_a_point_for_each_second() {
        let svg = lines("q/s", &[("a", &[1.0, 2.0, 4.0]), ("b", &[3.0])]);
        assert!(
            svg.contains("points=\"60.0,247.5 480.0,165.0 900.0,30.0\"") || svg.contains("900.0,30.0"),
            "{svg}"
        );
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.ends_with("</svg>\n"));
    }
}
