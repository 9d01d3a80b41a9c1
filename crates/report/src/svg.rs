use std::fmt::{Arguments, Write as _};

/// An SVG picture under construction.
///
/// Plotting crates write colours as constants; these pictures use classes and a style sheet, so that they follow the
/// reader's light or dark theme.
#[derive(Default)]
pub struct Svg(String);

impl Svg {
    /// Adds an element with these attributes and a tooltip.
    pub fn element(&mut self, name: &str, attributes: Arguments<'_>, tooltip: Option<&str>) {
        let _infallible = match tooltip {
            Some(tooltip) => {
                writeln!(self.0, "<{name} {attributes}><title>{}</title></{name}>", escape(tooltip))
            }
            None => writeln!(self.0, "<{name} {attributes}/>"),
        };
    }

    /// Adds a text with these attributes.
    pub fn text(&mut self, attributes: Arguments<'_>, words: &str) {
        let _infallible = writeln!(self.0, "<text {attributes}>{}</text>", escape(words));
    }

    /// The whole document.
    pub fn finish(self, (width, height): (f64, f64), title: &str, style: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<title>{}</title>\n<style>{style}</style>\n{}</svg>\n",
            escape(title),
            self.0
        )
    }
}

/// Text as it stands in XML and HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
