//! The codec against the vectors that the TypeScript codec is tested against, and against noise.

use super::frame::{Body, Frame, HEADER, Kind, decode, put};
use serde_json::{Value, json};

const VECTORS: &str = include_str!("../../vectors.json");

fn bytes_of(hex: &str) -> Vec<u8> {
    assert_eq!(hex.len() % 2, 0);
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn described(frame: &Frame) -> Value {
    let mut described = json!({
        "kind": format!("{:?}", frame.kind).to_uppercase(),
        "stream": frame.stream,
    });
    match &frame.body {
        Body::Json(object) => described["json"] = Value::Object(object.clone()),
        Body::Data { channel, bytes } => {
            described["channel"] = json!(channel);
            described["dataHex"] = json!(hex_of(bytes));
        }
        Body::Eof { channel } => described["channel"] = json!(channel),
        Body::Window { credit } => described["credit"] = json!(credit),
        Body::Cancel => {}
        Body::Echo(bytes) => described["dataHex"] = json!(hex_of(bytes)),
    }
    described
}

#[test]
fn frames_mean_what_the_vectors_say() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let frames = vectors["frames"].as_array().unwrap();
    assert!(frames.len() >= 14);
    for vector in frames {
        let bytes = bytes_of(vector["hex"].as_str().unwrap());
        let (frame, length) = decode(&bytes).unwrap().unwrap();
        assert_eq!(length, bytes.len(), "{}", vector["name"]);
        assert_eq!(described(&frame), vector["frame"], "{}", vector["name"]);
        let mut again = Vec::new();
        put(&mut again, frame.kind, frame.stream, &bytes[HEADER..]);
        assert_eq!(again, bytes, "{}", vector["name"]);
    }
}

#[test]
fn every_prefix_of_a_frame_is_incomplete() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for vector in vectors["frames"].as_array().unwrap() {
        let bytes = bytes_of(vector["hex"].as_str().unwrap());
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), Ok(None), "{} at {length}", vector["name"]);
        }
    }
}

#[test]
fn malformed_frames_are_refused() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let malformed = vectors["malformed"].as_array().unwrap();
    assert!(malformed.len() >= 14);
    for vector in malformed {
        let bytes = bytes_of(vector["hex"].as_str().unwrap());
        assert!(decode(&bytes).is_err(), "{}", vector["name"]);
    }
}

#[test]
fn noise_is_never_a_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..200_000 {
        let length = (random() % 48) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
        // Half of them get a plausible header, or the payload would never be reached.
        if length >= HEADER && random() % 2 == 0 {
            bytes[..4].copy_from_slice(&((length - HEADER) as u32).to_be_bytes());
            bytes[4] = (random() % 13) as u8;
        }
        let _ = decode(&bytes);
    }
    assert!(matches!(decode(&[0, 0, 0, 0, Kind::Cancel as u8, 0, 0, 0, 1]), Ok(Some(_))));
}
