//! The steps of the workflows that attach the packages to a release: `.ci/gitlab-release` against a made-up GitLab, and the command for GitHub
//! with a `gh` that writes down what it was told. Neither the real GitLab nor the real `gh` was tried.

use crate::crates;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

/// A request that the made-up GitLab got.
struct Request {
    line: String,
    token: String,
    body: Vec<u8>,
}

/// A GitLab on the loopback that keeps each request, and answers those whose line contains `refused` with 403.
struct GitLab {
    port: u16,
    got: Arc<Mutex<Vec<Request>>>,
}

impl GitLab {
    fn start(refused: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, got) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(Vec::new())));
        let all = Arc::clone(&got);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Some(request) = answer(&stream, refused) {
                    all.lock().unwrap().push(request);
                }
            }
        });
        Self { port, got }
    }

    /// Runs `.ci/gitlab-release` of this checkout as GitLab's runner would.
    fn release(&self, packages: &Path) -> Output {
        Command::new(crates().join("../.ci/gitlab-release"))
            .arg(packages)
            .env("CI_API_V4_URL", format!("http://127.0.0.1:{}/api/v4", self.port))
            .envs([("CI_PROJECT_ID", "7"), ("CI_JOB_TOKEN", "a-token"), ("CI_COMMIT_TAG", "v0.1.0"), ("no_proxy", "127.0.0.1")])
            .output()
            .unwrap()
    }
}

fn answer(mut stream: &TcpStream, refused: &str) -> Option<Request> {
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    lines.read_line(&mut line).ok()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        lines.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    if headers.get("expect").is_some_and(|e| e == "100-continue") {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    lines.read_exact(&mut body).ok()?;
    let status = if !refused.is_empty() && line.contains(refused) { "403 Forbidden" } else { "201 Created" };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}").ok()?;
    Some(Request { line: line.trim_end().to_owned(), token: headers.remove("job-token").unwrap_or_default(), body })
}

/// What `./x package` makes, by name.
const MADE: [&str; 4] =
    ["rtscope-0.1.0-amd64.oci.tar", "rtscope-0.1.0-amd64.tar.xz", "rtscope_0.1.0_amd64.deb", "rtscope-dkms_0.1.0_all.deb"];

fn packages(within: &Path) -> PathBuf {
    let dir = within.join("package");
    fs::create_dir(&dir).unwrap();
    for name in MADE {
        fs::write(dir.join(name), format!("the bytes of {name}")).unwrap();
    }
    dir
}

#[test]
fn a_release_on_gitlab_has_every_package_and_the_changes() {
    let place = tempfile::tempdir().unwrap();
    let dir = packages(place.path());
    let gitlab = GitLab::start("");
    let done = gitlab.release(&dir);
    assert!(done.status.success(), "{done:?}");
    let got = gitlab.got.lock().unwrap();
    assert!(got.iter().all(|r| r.token == "a-token"), "a request without the job's token");
    let (release, uploads) = got.split_last().unwrap();
    let mut sent: Vec<(String, String)> =
        uploads.iter().map(|r| (r.line.clone(), String::from_utf8(r.body.clone()).unwrap())).collect();
    sent.sort();
    let mut wanted = MADE.map(|name| {
        let line = format!("PUT /api/v4/projects/7/packages/generic/rtscope/0.1.0/{name} HTTP/1.1");
        (line, format!("the bytes of {name}"))
    });
    wanted.sort();
    assert_eq!(sent, wanted);
    assert_eq!(release.line, "POST /api/v4/projects/7/releases HTTP/1.1");
    let said: serde_json::Value = serde_json::from_slice(&release.body).unwrap();
    assert_eq!((&said["tag_name"], &said["name"]), (&"v0.1.0".into(), &"rtscope 0.1.0".into()));
    assert_eq!(said["description"], fs::read_to_string(crates().join("../CHANGELOG.md")).unwrap());
    let links: Vec<&str> = said["assets"]["links"].as_array().unwrap().iter().filter_map(|l| l["name"].as_str()).collect();
    assert_eq!(links.len(), MADE.len(), "{links:?}");
    for link in said["assets"]["links"].as_array().unwrap() {
        let url = link["url"].as_str().unwrap();
        assert!(url.ends_with(link["name"].as_str().unwrap()) && url.contains("/packages/generic/rtscope/0.1.0/"), "{url}");
    }
}

#[test]
fn a_release_that_gitlab_refuses_or_that_lacks_a_package_fails() {
    let place = tempfile::tempdir().unwrap();
    let dir = packages(place.path());
    let gitlab = GitLab::start("PUT ");
    let done = gitlab.release(&dir);
    assert!(!done.status.success(), "{done:?}");
    assert!(gitlab.got.lock().unwrap().iter().all(|r| !r.line.starts_with("POST")), "a release without its packages");
    fs::remove_file(dir.join(MADE[0])).unwrap();
    let gitlab = GitLab::start("");
    let done = gitlab.release(&dir);
    assert!(done.status.code() == Some(3) && String::from_utf8_lossy(&done.stderr).contains("./x package makes it"), "{done:?}");
    assert!(gitlab.got.lock().unwrap().iter().all(|r| !r.line.starts_with("POST")));
}

#[test]
fn the_command_for_github_names_every_package() {
    let place = tempfile::tempdir().unwrap();
    let checkout = place.path().join("checkout");
    fs::create_dir_all(checkout.join("target")).unwrap();
    packages(&checkout.join("target"));
    fs::write(checkout.join("CHANGELOG.md"), "changes").unwrap();
    let gh = place.path().join("gh");
    fs::write(&gh, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    let workflow = fs::read_to_string(crates().join("../.github/workflows/ci.yml")).unwrap();
    let step = workflow.lines().find_map(|l| l.trim().strip_prefix("run: ").filter(|run| run.starts_with("gh release"))).unwrap();
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let done = Command::new("bash")
        .args(["-e", "-c", step])
        .current_dir(&checkout)
        .envs([("PATH", path.as_str()), ("GITHUB_REF_NAME", "v0.1.0")])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let said = String::from_utf8(done.stdout).unwrap();
    let words: Vec<&str> = said.lines().collect();
    assert_eq!(words[..6], ["release", "create", "v0.1.0", "--verify-tag", "--title", "rtscope 0.1.0"]);
    let mut files: Vec<&str> = words.iter().filter_map(|w| w.strip_prefix("target/package/")).collect();
    files.sort_unstable();
    let mut made = MADE;
    made.sort_unstable();
    assert_eq!(files, made, "{words:?}");
}
