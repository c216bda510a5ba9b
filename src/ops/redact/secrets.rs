//! The built-in patterns: keys that can be told from other text by how they look.
//!
//! Few false positives are worth more here than finding everything: what is redacted is gone. What
//! has no form of its own is found only where it is assigned to a name that says what it is.

/// A built-in pattern.
pub(super) struct Secret {
    /// What it finds.
    pub(super) name: &'static str,
    /// The expression; if it has the group `secret`, only that is replaced.
    pub(super) expression: &'static str,
    /// Whether what was found looks like a secret.
    pub(super) accept: Option<fn(&[u8]) -> bool>,
}

const fn secret(name: &'static str, expression: &'static str) -> Secret {
    Secret { name, expression, accept: None }
}

/// All built-in patterns.
pub(super) const SECRETS: &[Secret] = &[
    secret("aws-access-key", r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?-u:\b)"),
    secret(
        "aws-secret-key",
        r#"(?i)aws.{0,20}(?:secret|key)["']?\s*[:=]\s*["']?(?P<secret>[A-Za-z0-9/+]{40})(?-u:\b)"#,
    ),
    secret("github-token", r"(?-u:\b)gh[pousr]_[A-Za-z0-9]{36,255}(?-u:\b)"),
    secret("github-fine-grained-token", r"(?-u:\b)github_pat_[A-Za-z0-9_]{50,255}(?-u:\b)"),
    secret("gitlab-token", r"(?-u:\b)gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_-]{20,}"),
    secret("slack-token", r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    secret("slack-app-token", r"(?-u:\b)xapp-\d-[A-Za-z0-9]+-\d+-[A-Fa-f0-9]{32,}"),
    secret(
        "slack-webhook",
        r"https://hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9+/]{40,})",
    ),
    secret("anthropic-key", r"(?-u:\b)sk-ant-[A-Za-z0-9_-]{20,}"),
    secret("openai-key", r"(?-u:\b)sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,}"),
    secret("openai-legacy-key", r"(?-u:\b)sk-[A-Za-z0-9]{48}(?-u:\b)"),
    secret("openrouter-key", r"(?-u:\b)sk-or-v1-[a-f0-9]{64}(?-u:\b)"),
    secret("google-api-key", r"(?-u:\b)AIza[A-Za-z0-9_-]{35}"),
    secret("google-oauth-token", r"(?-u:\b)ya29\.[A-Za-z0-9_-]{30,}"),
    secret("google-client-secret", r"(?-u:\b)GOCSPX-[A-Za-z0-9_-]{28}"),
    secret("stripe-key", r"(?-u:\b)[rs]k_(?:live|test)_[A-Za-z0-9]{20,}"),
    secret("stripe-webhook-secret", r"(?-u:\b)whsec_[A-Za-z0-9+/=]{32,}"),
    secret("npm-token", r"(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)"),
    secret("pypi-token", r"(?-u:\b)pypi-AgE[A-Za-z0-9_-]{50,}"),
    secret("huggingface-token", r"(?-u:\b)hf_[A-Za-z]{34}(?-u:\b)"),
    secret("sendgrid-key", r"(?-u:\b)SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    secret("digitalocean-token", r"(?-u:\b)do[opr]_v1_[a-f0-9]{64}(?-u:\b)"),
    secret("telegram-bot-token", r"(?-u:\b)\d{8,10}:AA[A-Za-z0-9_-]{33}(?-u:\b)"),
    secret("jwt", r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    secret(
        "private-key",
        "-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\
         (?:[^-]*(?:-[^-]+)*-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\
         |(?:\\s+[A-Za-z0-9+/=]{16,})+)",
    ),
    Secret {
        name: "url-password",
        expression: concat!(
            r"(?-u:\b)[a-z][a-z0-9+.-]{1,15}://[^\s:/@<>{}$*]+:",
            r"(?P<secret>[^\s:/@<>{}$*]{4,})@[A-Za-z0-9.-]",
        ),
        accept: Some(is_no_placeholder),
    },
    secret(
        "bearer-token",
        concat!(
            r#"(?i)authorization["']?\s*[:=]\s*["']?(?:bearer|token|basic)\s+"#,
            r"(?P<secret>[A-Za-z0-9._~+/-]{20,}=*)",
        ),
    ),
    Secret { name: ASSIGNED, expression: ASSIGNMENT, accept: Some(is_strong) },
];

/// The pattern that is also tried on a key and its value.
pub(super) const ASSIGNED: &str = "assigned-password";
const ASSIGNMENT: &str = concat!(
    r"(?i)(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|access[_-]?token",
    r#"|auth[_-]?token|private[_-]?token)(?:[_-]?(?:key|token|value))?["']?\s*(?::|=)\s*["']?"#,
    r#"(?P<secret>[^\s"'`\\,;&<>(){}\[\]$*|]{8,256})"#,
);

/// Says whether a text is not a word that stands for a password.
fn is_no_placeholder(text: &[u8]) -> bool {
    const PLACEHOLDERS: [&[u8]; 8] = [
        b"password",
        b"passwd",
        b"pass",
        b"secret",
        b"token",
        b"changeme",
        b"example",
        b"redacted",
    ];
    let lower = text.to_ascii_lowercase();
    !PLACEHOLDERS.contains(&&lower[..]) && text.iter().any(|byte| *byte != text[0])
}

/// Says whether a text has letters and digits, and is no name of something in a program.
fn is_strong(text: &[u8]) -> bool {
    let has = |wanted: fn(&u8) -> bool| text.iter().any(wanted);
    let is_path = text.contains(&b'.')
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(byte))
        && text.split(|byte| *byte == b'.').all(|part| {
            part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        });
    let is_address = text.starts_with(b"http") || text.starts_with(b"/");
    has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit) && !is_path && !is_address
}
