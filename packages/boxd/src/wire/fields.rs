//! The members of a JSON object, taken one by one and judged by type.

use super::failure::Failure;
use super::frame::Object;
use serde_json::Value;
use std::collections::BTreeMap;

/// Strings to strings: environments, labels.
pub type Dictionary = BTreeMap<String, String>;

/// Members nobody asks for are ignored; `null` is the same as absent.
pub struct Fields(Object);

impl Fields {
    pub fn of(object: Object) -> Fields {
        Fields(object)
    }

    pub fn nested(value: Value, name: &str) -> Result<Fields, Failure> {
        match value {
            Value::Object(object) => Ok(Fields(object)),
            _ => Err(wrong(name, "an object")),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// As it is.
    pub fn value_if_any(&mut self, name: &str) -> Option<Value> {
        self.take(name)
    }

    pub fn text_if_any(&mut self, name: &str) -> Result<Option<String>, Failure> {
        self.take(name).map(|value| text(value, name)).transpose()
    }

    pub fn text(&mut self, name: &str) -> Result<String, Failure> {
        required(self.text_if_any(name)?, name)
    }

    pub fn number_if_any(&mut self, name: &str) -> Result<Option<u64>, Failure> {
        let number =
            |value: Value| value.as_u64().ok_or_else(|| wrong(name, "a whole number, 0 or more"));
        self.take(name).map(number).transpose()
    }

    pub fn number(&mut self, name: &str) -> Result<u64, Failure> {
        required(self.number_if_any(name)?, name)
    }

    /// A number that fits a smaller type.
    pub fn small_if_any<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let fit = |number| T::try_from(number).map_err(|_| wrong(name, "a smaller number"));
        self.number_if_any(name)?.map(fit).transpose()
    }

    pub fn small<T: TryFrom<u64>>(&mut self, name: &str) -> Result<T, Failure> {
        required(self.small_if_any(name)?, name)
    }

    pub fn flag(&mut self, name: &str, otherwise: bool) -> Result<bool, Failure> {
        match self.take(name) {
            None => Ok(otherwise),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(wrong(name, "true or false")),
        }
    }

    pub fn texts(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        self.list(name)?.into_iter().map(|value| text(value, name)).collect()
    }

    pub fn numbers(&mut self, name: &str) -> Result<Vec<u64>, Failure> {
        let number = |value: Value| value.as_u64().ok_or_else(|| wrong(name, "a list of numbers"));
        self.list(name)?.into_iter().map(number).collect()
    }

    pub fn objects(&mut self, name: &str) -> Result<Vec<Fields>, Failure> {
        self.list(name)?.into_iter().map(|value| Fields::nested(value, name)).collect()
    }

    pub fn object_if_any(&mut self, name: &str) -> Result<Option<Fields>, Failure> {
        self.take(name).map(|value| Fields::nested(value, name)).transpose()
    }

    pub fn object(&mut self, name: &str) -> Result<Fields, Failure> {
        required(self.object_if_any(name)?, name)
    }

    pub fn dictionary(&mut self, name: &str) -> Result<Dictionary, Failure> {
        let Some(Fields(object)) = self.object_if_any(name)? else {
            return Ok(Dictionary::new());
        };
        let pair = |(key, value)| Ok((key, text(value, name)?));
        object.into_iter().map(pair).collect()
    }

    pub fn unknown_op(&self, op: &str) -> Failure {
        Failure::invalid(format!("unknown op {op:?}"))
    }

    fn list(&mut self, name: &str) -> Result<Vec<Value>, Failure> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => Ok(values),
            Some(_) => Err(wrong(name, "a list")),
        }
    }
}

fn text(value: Value, name: &str) -> Result<String, Failure> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(wrong(name, "text")),
    }
}

fn required<T>(value: Option<T>, name: &str) -> Result<T, Failure> {
    value.ok_or_else(|| Failure::invalid(format!("`{name}` is missing")))
}

fn wrong(name: &str, wanted: &str) -> Failure {
    Failure::invalid(format!("`{name}` is not {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        Fields::nested(value, "test").unwrap_or_else(|failure| panic!("{}", failure.message))
    }

    #[test]
    fn members_have_the_type_they_must_have() {
        let mut good =
            fields(json!({"t": "x", "n": 7, "f": true, "l": ["a"], "d": {"k": "v"}, "z": null}));
        assert_eq!(good.text("t").as_deref(), Ok("x"));
        assert_eq!(good.small::<u16>("n"), Ok(7));
        assert_eq!(good.flag("f", false), Ok(true));
        assert_eq!(good.texts("l"), Ok(vec!["a".to_string()]));
        assert_eq!(good.dictionary("d").unwrap()["k"], "v");
        assert_eq!(good.text_if_any("z"), Ok(None));
        assert!(good.text("t").is_err(), "taken once");
        for wrong in [json!({"x": 1.5}), json!({"x": -1}), json!({"x": "7"}), json!({"x": 70000})] {
            assert!(fields(wrong).small::<u16>("x").is_err());
        }
        assert!(fields(json!({"x": [1]})).texts("x").is_err());
        assert!(fields(json!({"x": {"k": 1}})).dictionary("x").is_err());
        assert!(fields(json!({"x": []})).object("x").is_err());
    }
}
