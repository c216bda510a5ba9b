use super::*;

fn read(text: &str) -> Message {
    Message::read("message", &json::parse(text.as_bytes()).unwrap()).unwrap()
}

#[test]
fn one_text_is_read_from_every_shape() {
    let shapes = [
        r#"{"role":"assistant","content":"hi"}"#,
        r#"{"message":{"role":"assistant","content":"hi"}}"#,
        r#"{"message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}"#,
        r#"{"role":"assistant","content":["hi"]}"#,
    ];
    for shape in shapes {
        let message = read(shape);
        assert_eq!((message.role.as_str(), message.text().as_str()), ("assistant", "hi"));
    }
    let body = json::parse(br#"{"text":"hi"}"#).unwrap();
    assert_eq!(Message::read("assistant", &body).unwrap().role, "assistant");
    assert_eq!(Message::read("label", &body), None);
}

#[test]
fn calls_are_read_from_every_shape() {
    let shapes = [
        r#"{"content":[{"type":"tool_use","id":"c1","name":"ls","input":{"a":1}}]}"#,
        r#"{"content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{"a":1}}]}"#,
        r#"{"content":null,"tool_calls":[{"id":"c1","type":"function",
           "function":{"name":"ls","arguments":"{\"a\":1}"}}]}"#,
    ];
    for shape in shapes {
        let message = read(shape);
        let call = message.calls().next().unwrap();
        assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "ls"));
        assert_eq!(json::to_string(&call.arguments), r#"{"a":1}"#);
    }
}

#[test]
fn answers_are_read_from_every_shape() {
    let shapes = [
        r#"{"role":"user",
           "content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}"#,
        r#"{"role":"tool","tool_call_id":"c1","content":"x"}"#,
        r#"{"message":{"role":"toolResult","toolCallId":"c1",
           "content":[{"type":"text","text":"x"}]}}"#,
    ];
    for shape in shapes {
        let message = read(shape);
        let answer = message.answers().next().unwrap();
        assert_eq!((answer.call.as_str(), answer.text.as_str()), ("c1", "x"));
        assert!(!message.is_from_user());
    }
}

#[test]
fn what_it_took_is_read_from_every_shape() {
    let pi = read(
        r#"{"message":{"role":"assistant","model":"m","usage":{"input":3,"output":4,
        "totalTokens":9,"cost":{"total":0.5}}}}"#,
    );
    assert_eq!((pi.usage.tokens, pi.usage.cost), (Some(9), Some(0.5)));
    let claude = read(
        r#"{"message":{"usage":{"input_tokens":3,"output_tokens":4,
        "cache_read_input_tokens":5}}}"#,
    );
    assert_eq!((claude.usage.tokens, claude.usage.cost), (Some(12), None));
    let dash = read(
        r#"{"role":"assistant","content":"x","metadata":{"model":"kimi-k2.5",
        "provider":"moonshot","cost":0.001,"tokens":150}}"#,
    );
    assert_eq!((dash.usage.tokens, dash.usage.cost), (Some(150), Some(0.001)));
    assert_eq!(dash.model.as_deref(), Some("kimi-k2.5"));
}

/// One message in every shape: the name of the shape, what a person asks, what the model answers,
/// and what the tool gives if that is a message of its own.
const SHAPES: [(&str, &str, &str, Option<&str>); 6] = [
    (
        "pi",
        r#"{"message":{"role":"user","content":[{"type":"text","text":"look"},
            {"type":"image","mimeType":"image/png","data":"AAAA"}]}}"#,
        r#"{"message":{"role":"assistant","model":"m","provider":"p","content":[
            {"type":"thinking","thinking":"hm"},{"type":"text","text":"I look"},
            {"type":"toolCall","id":"c","name":"ls","arguments":{"a":1}}],
            "usage":{"input":1,"output":5,"cacheRead":3,"cacheWrite":0,"totalTokens":9,
            "cost":{"total":0.5}}}}"#,
        Some(
            r#"{"message":{"role":"toolResult","toolCallId":"c","toolName":"ls","isError":true,
            "content":[{"type":"text","text":"no"},
            {"type":"image","mimeType":"image/gif","data":"BBBB"}]}}"#,
        ),
    ),
    (
        "claude",
        r#"{"type":"user","uuid":"u","message":{"role":"user","content":[
            {"type":"text","text":"look"},{"type":"image",
            "source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}}"#,
        r#"{"type":"assistant","uuid":"v","message":{"role":"assistant","model":"m","content":[
            {"type":"thinking","thinking":"hm"},{"type":"text","text":"I look"},
            {"type":"tool_use","id":"c","name":"ls","input":{"a":1}}],
            "usage":{"input_tokens":1,"output_tokens":5,"cache_read_input_tokens":3}}}"#,
        Some(
            r#"{"type":"user","uuid":"w","message":{"role":"user","content":[
            {"type":"tool_result","tool_use_id":"c","is_error":true,"content":[
            {"type":"text","text":"no"},{"type":"image",
            "source":{"type":"base64","media_type":"image/gif","data":"BBBB"}}]}]}}"#,
        ),
    ),
    (
        "chat",
        r#"{"role":"user","content":[{"type":"text","text":"look"},
            {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}"#,
        r#"{"role":"assistant","model":"m","content":"I look","reasoning_content":"hm",
            "tool_calls":[{"id":"c","type":"function",
            "function":{"name":"ls","arguments":"{\"a\":1}"}}],
            "usage":{"prompt_tokens":4,"completion_tokens":5,"total_tokens":9,
            "prompt_tokens_details":{"cached_tokens":3}}}"#,
        Some(
            r#"{"role":"tool","tool_call_id":"c","is_error":true,"content":[
            {"type":"text","text":"no"},
            {"type":"input_image","image_url":"data:image/gif;base64,BBBB"}]}"#,
        ),
    ),
    (
        "copilot",
        r#"{"type":"user.message","data":{"content":"look","attachments":[
            {"type":"blob","mimeType":"image/png","data":"AAAA"}]}}"#,
        r#"{"type":"assistant.message","data":{"model":"m","content":"I look",
            "reasoningText":"hm","outputTokens":9,"toolRequests":[
            {"toolCallId":"c","name":"ls","arguments":{"a":1},"type":"function"}]}}"#,
        Some(
            r#"{"type":"tool.execution_complete","data":{"toolCallId":"c","success":false,
            "result":{"content":"no","contents":[
            {"type":"image","mimeType":"image/gif","data":"BBBB"}]}}}"#,
        ),
    ),
    (
        "gemini",
        r#"{"id":"1","type":"user","content":[{"text":"look"},
            {"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}"#,
        r#"{"id":"2","type":"gemini","model":"m","content":"I look",
            "thoughts":[{"description":"hm"}],"tokens":{"input":4,"output":3,"cached":3,
            "thoughts":2,"total":9},"toolCalls":[{"id":"c","name":"ls","args":{"a":1},
            "status":"error","result":[
            {"functionResponse":{"id":"c","name":"ls","response":{"error":"no"}}},
            {"inlineData":{"mimeType":"image/gif","data":"BBBB"}}]}]}"#,
        None,
    ),
    (
        "opencode",
        r#"{"info":{"role":"user"},"parts":[{"type":"text","text":"look"},
            {"type":"text","text":"to people","ignored":true},
            {"type":"file","mime":"text/plain","url":"file:///a"},
            {"type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}]}"#,
        r#"{"info":{"role":"assistant","modelID":"m","providerID":"p","cost":0.5,
            "tokens":{"input":1,"output":3,"reasoning":2,"cache":{"read":3,"write":0}}},
            "parts":[{"type":"step-start","snapshot":"x"},{"type":"reasoning","text":"hm"},
            {"type":"text","text":"I look"},{"type":"tool","callID":"c","tool":"ls",
            "state":{"status":"error","input":{"a":1},"error":"no","attachments":[
            {"type":"file","mime":"image/gif","url":"data:image/gif;base64,BBBB"}]}},
            {"type":"step-finish"}]}"#,
        None,
    ),
];

fn image(mime: &str, base64: &str) -> Image {
    Image::Data { mime: mime.to_owned(), base64: base64.to_owned() }
}

#[test]
fn every_shape_says_the_same() {
    for (shape, asked, answered, given) in SHAPES {
        let asked = read(asked);
        assert!(asked.is_from_user(), "{shape}");
        let png = Block::Image(image("image/png", "AAAA"));
        assert_eq!(asked.blocks, [Block::Text("look".to_owned()), png], "{shape}");

        let mut messages = read(answered).apart();
        messages.extend(given.map(read));
        let [answered, given] = &messages[..] else { panic!("{shape}: {messages:?}") };
        let call = Call {
            id: "c".to_owned(),
            name: "ls".to_owned(),
            arguments: Value::map([("a", 1.into())]),
        };
        let blocks =
            [Block::Thinking("hm".to_owned()), Block::Text("I look".to_owned()), Block::Call(call)];
        assert_eq!((answered.role.as_str(), &answered.blocks[..]), ("assistant", &blocks[..]));
        assert_eq!((answered.model.as_deref(), answered.usage.tokens), (Some("m"), Some(9)));
        let has_cost = matches!(shape, "pi" | "opencode");
        assert_eq!(answered.usage.cost, has_cost.then_some(0.5), "{shape}");
        assert_eq!(answered.provider.as_deref(), has_cost.then_some("p"), "{shape}");
        if shape != "copilot" {
            let Usage { input, output, cache_read, .. } = answered.usage;
            assert_eq!((input, output, cache_read), (Some(1), Some(5), Some(3)), "{shape}");
        }

        let [Block::Result(answer)] = &given.blocks[..] else { panic!("{shape}: {given:?}") };
        assert_eq!((answer.call.as_str(), answer.text.as_str()), ("c", "no"), "{shape}");
        assert_eq!(
            (answer.is_error, &answer.images[..]),
            (true, &[image("image/gif", "BBBB")][..])
        );
        assert_eq!(answer.words(), "no\n[image]");
    }
}

#[test]
fn results_that_have_not_come_are_not_read() {
    let shapes = [
        r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"c","name":"ls"}]}"#,
        r#"{"info":{"role":"assistant"},"parts":[{"type":"tool","callID":"c","tool":"ls",
            "state":{"status":"running","input":{}}}]}"#,
    ];
    for shape in shapes {
        let message = read(shape);
        assert_eq!((message.calls().count(), message.answers().count()), (1, 0), "{shape}");
    }
}

#[test]
fn a_message_comes_apart_behind_its_calls() {
    let tool = |id: &str| {
        format!(
            r#"{{"type":"tool","callID":"{id}","tool":"t","state":{{"status":"completed",
            "input":{{}},"output":"{id}"}}}}"#
        )
    };
    let text = r#"{"type":"text","text":"so"}"#;
    let body = format!(
        r#"{{"info":{{"role":"assistant","cost":1}},"parts":[{text},{},{},{text},{}]}}"#,
        tool("a"),
        tool("b"),
        tool("c")
    );
    let parts = read(&body).apart();
    let told: Vec<String> = parts
        .iter()
        .map(|part| {
            let calls = part.calls().map(|call| format!("+{}", call.id));
            let answers = part.answers().map(|answer| format!("-{}", answer.call));
            let marks: Vec<String> = calls.chain(answers).collect();
            format!("{} {}{}", part.role, part.text(), marks.join(""))
        })
        .collect();
    assert_eq!(told, ["assistant so+a+b", "tool -a", "tool -b", "assistant so+c", "tool -c"]);
    let costs: Vec<f64> = parts.iter().filter_map(|part| part.usage.cost).collect();
    assert_eq!(costs, [1.0], "what it took counts once");
    let whole = read(r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}"#);
    assert_eq!(whole.clone().apart(), [whole]);
}

#[test]
fn what_cannot_be_read_as_a_picture_is_kept() {
    let message = read(r#"{"role":"user","content":[{"type":"image","source":{"file":"f1"}}]}"#);
    assert!(matches!(&message.blocks[..], [Block::Other(_)]));
    let plain = read(r#"{"content":[{"type":"image_url","image_url":{"url":"https://x/y"}}]}"#);
    let urls: Vec<String> = plain.images().map(Image::url).collect();
    assert_eq!(urls, ["https://x/y"]);
}
