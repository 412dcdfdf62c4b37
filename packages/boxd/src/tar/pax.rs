//! Records that say what does not fit into a header: `length key=value\n`.

use super::Malformed;

/// In a layer: it replaces something of the same name. Others do not know this and need not.
pub const WAS_THERE: &[u8] = b"SANDBOXER.was-there";

/// What the records before a header say instead of it.
#[derive(Default)]
pub struct Overrides {
    pub path: Option<Vec<u8>>,
    pub target: Option<Vec<u8>>,
    pub size: Option<u64>,
    pub uid: Option<u64>,
    pub gid: Option<u64>,
    pub mtime: Option<i64>,
    pub was_there: bool,
}

impl Overrides {
    pub fn read(&mut self, mut records: &[u8]) -> Result<(), Malformed> {
        while !records.is_empty() {
            let (record, rest) = next(records)?;
            records = rest;
            let equals = record.iter().position(|&byte| byte == b'=');
            let (key, value) = record.split_at(equals.ok_or(Malformed("a record has no value"))?);
            self.take(key, &value[1..])?;
        }
        Ok(())
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<(), Malformed> {
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.target = Some(value.to_vec()),
            b"size" => self.size = Some(decimal(value)?),
            b"uid" => self.uid = Some(decimal(value)?),
            b"gid" => self.gid = Some(decimal(value)?),
            b"mtime" => {
                // Fractions are finer than we keep; times before 1970 are nobody's.
                let whole = value.split(|&byte| byte == b'.').next().unwrap_or_default();
                self.mtime = decimal(whole).ok().and_then(|seconds| seconds.try_into().ok());
            }
            WAS_THERE => self.was_there = true,
            _ if key.starts_with(b"GNU.sparse") => {
                return Err(Malformed("sparse files are not understood"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The first record without its length, and what follows it.
fn next(records: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let wrong = Malformed("a record's length is wrong");
    let Some(space) = records.iter().take(20).position(|&byte| byte == b' ') else {
        return Err(wrong);
    };
    let length = usize::try_from(decimal(&records[..space])?).unwrap_or(usize::MAX);
    if length < space + 3 || length > records.len() || records[length - 1] != b'\n' {
        return Err(wrong);
    }
    Ok((&records[space + 1..length - 1], &records[length..]))
}

fn decimal(text: &[u8]) -> Result<u64, Malformed> {
    let digits = std::str::from_utf8(text)
        .ok()
        .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok()).ok_or(Malformed("a record's number is none"))
}

/// One record, whose length counts itself.
pub fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_count_themselves_and_read_back() {
        for length in [1, 4, 5, 84, 85, 86, 87, 985, 986, 5_000] {
            let value = vec![b'x'; length];
            let record = record("path", &value);
            let stated: usize =
                std::str::from_utf8(&record).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert_eq!(stated, record.len());
            let mut overrides = Overrides::default();
            overrides.read(&[&record[..], b"9 size=7\n"].concat()).unwrap_or_default();
            assert_eq!(overrides.path.as_deref(), Some(&value[..]));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for nonsense in [
            &b"x"[..],
            b"5 a=b",
            b"6 a=b\nx",
            b"99 a=b\n",
            b"3 =\n",
            b"-6 a=b\n",
            b"10 size=-1\n",
            b"11 size=0x1\n",
            b"22 GNU.sparse.major=1\n",
            b"18446744073709551616 a=b\n",
        ] {
            let read = Overrides::default().read(nonsense);
            assert!(read.is_err(), "{:?}", String::from_utf8_lossy(nonsense));
        }
    }
}
