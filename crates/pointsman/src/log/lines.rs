//! Lines of the log: text, or a JSON object each.

use std::fmt::{self, Debug};

use config::LogFormat;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, format};
use tracing_subscriber::registry::LookupSpan;

/// Makes the line of an event.
#[derive(Debug)]
pub(super) enum Lines {
    /// Time, level, message, and `name=value` for each field.
    Text(Format),
    /// The same as an object, with the module that logs.
    Json,
}

impl From<LogFormat> for Lines {
    fn from(form: LogFormat) -> Self {
        match form {
            LogFormat::Text => Self::Text(format().with_target(false)),
            LogFormat::Json => Self::Json,
        }
    }
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        match self {
            Self::Text(text) => text.format_event(context, line, event),
            Self::Json => write_json(line, event),
        }
    }
}

/// Writes one object and the end of the line. JSON escapes the line ends of values.
fn write_json(mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
    let mut time = String::new();
    SystemTime.format_time(&mut Writer::new(&mut time))?;
    let mut values = Values::default();
    event.record(&mut values);
    let (level, target) = (event.metadata().level(), event.metadata().target());
    let object = json!({
        "time": time,
        "level": level.as_str(),
        "target": target,
        "message": values.message,
        "fields": values.fields,
    });
    writeln!(line, "{object}")
}

/// The message of an event, and its fields.
#[derive(Debug, Default)]
struct Values {
    message: String,
    fields: Map<String, Value>,
}

impl Values {
    fn put(&mut self, field: &Field, value: Value) {
        self.fields.insert(field.name().to_owned(), value);
    }
}

impl Visit for Values {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            self.put(field, text.into());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            self.put(field, value.into());
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use tracing::field;
    use tracing::subscriber::with_default;
    use tracing_subscriber::fmt::layer;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Debug, Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What `log` writes in this form.
    fn written(form: LogFormat, log: impl FnOnce()) -> String {
        let kept = Kept::default();
        let writer = kept.clone();
        let lines = layer().event_format(Lines::from(form)).with_ansi(false);
        let lines = lines.with_writer(move || writer.clone());
        with_default(tracing_subscriber::registry().with(lines), log);
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn log() {
        let error = io::Error::other("no \"disk\"");
        tracing::warn!(ms = 5_u64, delta = -1, on = true, %error, user = field::debug("ann"), "two\nlines {}", 7);
    }

    #[test]
    fn a_json_line_has_each_field_with_its_type() {
        let text = written(LogFormat::Json, || {
            log();
            tracing::info!("plain");
        });
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [first, second] = lines.as_slice() else { panic!("{text}") };
        assert_eq!(first["level"], "WARN");
        assert_eq!(first["target"], module_path!());
        assert_eq!(first["message"], "two\nlines 7");
        let fields = json!({"ms": 5, "delta": -1, "on": true, "error": "no \"disk\"", "user": "\"ann\""});
        assert_eq!(first["fields"], fields);
        let time = first["time"].as_str().unwrap();
        assert!(time.len() == "2026-11-21T23:07:19.522685Z".len() && time.ends_with('Z'), "{time}");
        assert_eq!((&second["message"], &second["fields"]), (&json!("plain"), &json!({})));
    }

    #[test]
    fn a_line_of_text_has_no_module() {
        let text = written(LogFormat::Text, || tracing::warn!(ms = 5_u64, "slow"));
        assert!(text.ends_with("  WARN slow ms=5\n"), "{text}");
    }
}
