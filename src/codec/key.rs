//! The keys that messages of most programs have.
//!
//! A conversation says the same few keys over and over. Memory for each of them, made and given
//! back again, was a sixth of the time that decoding takes; these cost a comparison.
//!
//! Not here: anything that a value means. A key that is not listed works the same.

/// Finds bytes of a length among texts of that length.
macro_rules! listed {
    ($key:ident, $bytes:literal: $($text:literal)*) => {{
        $(const _: () = assert!($text.len() == $bytes);)*
        match <&[u8; $bytes]>::try_from($key) {
            $(Ok(key) if key[..] == *$text.as_bytes() => Some($text),)*
            _ => None,
        }
    }};
}

/// Gives a key that is listed, by its bytes.
#[rustfmt::skip]
pub(crate) fn known_key(key: &[u8]) -> Option<&'static str> {
    match key.len() {
        2 => listed!(key, 2: "id"),
        3 => listed!(key, 3: "cwd" "key" "url"),
        4 => listed!(key, 4: "type" "role" "text" "name" "uuid" "args" "cost" "data" "kind"
            "mode" "path" "time"),
        5 => listed!(key, 5: "input" "model" "usage" "value" "delta" "error" "index" "parts"
            "title" "tools"),
        6 => listed!(key, 6: "callID" "callId" "output" "reason" "result" "source" "status"
            "tokens"),
        7 => listed!(key, 7: "content" "message" "call_id" "command" "payload" "summary"
            "version"),
        8 => listed!(key, 8: "is_error" "metadata" "parentId" "provider" "thinking" "toolName"
            "userType"),
        9 => listed!(key, 9: "timestamp" "sessionId" "gitBranch" "arguments" "createdAt"
            "reasoning" "requestId" "signature"),
        10 => listed!(key, 10: "parentUuid" "media_type" "session_id" "stopReason" "tool_calls"
            "toolCallId"),
        11 => listed!(key, 11: "isSidechain" "stop_reason" "tool_use_id" "description"),
        12 => listed!(key, 12: "input_tokens" "service_tier" "tool_call_id"),
        13 => listed!(key, 13: "output_tokens" "stop_sequence" "toolUseResult"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_key_is_itself_and_others_are_not_listed() {
        for key in [
            "id",
            "cwd",
            "role",
            "text",
            "type",
            "model",
            "content",
            "timestamp",
            "parentUuid",
            "tool_use_id",
            "stop_sequence",
            "toolUseResult",
        ] {
            assert_eq!(known_key(key.as_bytes()), Some(key));
            for place in 0..key.len() {
                let mut other = key.as_bytes().to_vec();
                other[place] ^= 0x20;
                assert_eq!(known_key(&other), None, "{other:?}");
            }
        }
        for other in [&b""[..], b"\xff\xff", b"nothing", b"a key that is rather long"] {
            assert_eq!(known_key(other), None);
        }
    }
}
