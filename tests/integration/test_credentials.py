# SPDX-License-Identifier: Apache-2.0
"""Where credentials come from: every source end to end, against doubles of the services that give them out,
and what happens when those are wrong, slow or absent."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import itertools
import json
import os
import subprocess
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

HERE = Path(__file__).resolve().parent
KEYS = HERE.parent / "data" / "credentials"
PROGRAM = os.environ.get("CREDENTIALS", "")
SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"

pytestmark = pytest.mark.skipif(not PROGRAM, reason="CREDENTIALS names no program")


# --- doubles


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_what: object) -> None:
        pass

    def handle_one(self) -> None:
        double: Double = self.server.double
        split = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen = {"method": self.command, "path": split.path, "query": dict(parse_qsl(split.query)),
                "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
        double.seen.append(seen)
        answer = double.answers.get((self.command, split.path), (404, b"nothing here"))
        answer = answer(seen) if callable(answer) else answer
        if answer == "stall":
            double.over.wait(60)
            self.close_connection = True
            return
        if answer == "close":
            self.close_connection = True
            return
        status, content, *headers = answer
        content = json.dumps(content).encode() if isinstance(content, dict) else content
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = handle_one


class Double:
    """A server whose answers are set by the test: (status, content, headers...), a function of the request,
    "stall" or "close"."""

    def __init__(self) -> None:
        self.answers: dict = {}
        self.seen: list[dict] = []
        self.over = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.double = self
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def double():
    server = Double()
    yield server
    server.stop()


class World:
    """A home directory and an environment of its own, and the program in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true",
                    "NO_GCE_CHECK": "true", "NO_PROXY": "*"}
        self.env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        self.log = ""

    def write(self, path: str, text: str) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def run(self, *argv: str) -> list[str]:
        done = subprocess.run([PROGRAM, *argv], env=self.env, capture_output=True, timeout=60, text=True)
        self.log = done.stderr
        assert done.returncode == 0, (done.returncode, done.stderr)
        return done.stdout.splitlines()

    def one(self, *argv: str) -> str:
        (line,) = self.run(*argv)
        return line

    def start(self, *argv: str) -> subprocess.Popen:
        return subprocess.Popen([PROGRAM, *argv], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def hash_of(secret: str, token: str = "") -> str:
    return hashlib.sha256(f"{secret}/{token}".encode()).hexdigest()[:16]


def in_time(seconds: float) -> str:
    return datetime.fromtimestamp(int(time.time() + seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def sts_answer(action: str, key: str = "ASIASTS", secret: str = "sts secret", token: str = "sts/token=",
               expires: str | None = None) -> bytes:
    return (f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><Credentials>'
            f"<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>"
            f"<SessionToken>{token}</SessionToken><Expiration>{expires or in_time(3600)}</Expiration></Credentials>"
            f"</{action}Result></{action}Response>").encode()


def is_signed(seen: dict, secret: str, region: str) -> bool:
    """Signature version 4 of a request to STS, worked out once more."""
    fields = dict(part.strip().split("=", 1) for part in
                  seen["headers"]["authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(","))
    names = fields["SignedHeaders"].split(";")
    date = seen["headers"]["x-amz-date"]
    canonical = "\n".join([seen["method"], seen["path"], "",
                           *(f"{name}:{seen['headers'][name]}" for name in names), "", ";".join(names),
                           hashlib.sha256(seen["body"]).hexdigest()])
    scope = f"{date[:8]}/{region}/sts/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in (date[:8], region, "sts", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    assert {"host", "x-amz-date"} <= set(names)
    return (fields["Credential"].split("/", 1)[1] == scope
            and fields["Signature"] == hmac.new(key, text.encode(), hashlib.sha256).hexdigest())


# --- S3: environment and files


def test_environment(world: World) -> None:
    world.env |= {"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "envsecret"}
    assert world.one("s3", "get") == f"AKIAENV {hash_of('envsecret')} 0 1 the environment (AWS_ACCESS_KEY_ID)"
    assert world.log == "sdsfs: credentials: the environment (AWS_ACCESS_KEY_ID)\n"
    world.env["AWS_SESSION_TOKEN"] = "envtoken"
    assert world.one("s3", "take").split()[1] == hash_of("envsecret", "envtoken")


def test_half_of_the_environment_is_an_error(world: World) -> None:
    world.write(".aws/credentials", "[default]\naws_access_key_id=A\naws_secret_access_key=b\n")
    world.env["AWS_ACCESS_KEY_ID"] = "AKIAENV"
    line = world.one("s3", "get")
    assert line.startswith("invalid credentials ") and "no AWS_SECRET_ACCESS_KEY" in line


def test_nothing_is_anonymous(world: World) -> None:
    line = world.one("s3", "get")
    assert line.split()[0] == "anonymous" and line.endswith(" nothing was found: anonymous")
    assert world.log == "sdsfs: credentials: nothing was found: anonymous\n"
    world.env |= {"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "envsecret"}
    assert world.run("s3", "no_sign", "get", "renew")[0].startswith("anonymous ")
    assert world.log == ""


FILES = {
    ".aws/credentials": "[default]\naws_access_key_id = AKIADEF\naws_secret_access_key = defsecret\n"
                        "[both]\naws_access_key_id = AKIACRED\naws_secret_access_key = credsecret\n",
    ".aws/config": "[default]\nregion = eu-north-1\n"
                   "[profile both]\naws_access_key_id = AKIACONF\naws_secret_access_key = confsecret\n"
                   "region = ap-south-1\nservices = mine\n"
                   "[profile conf]\naws_access_key_id=AKIACONF\naws_secret_access_key=confsecret\n"
                   "aws_session_token=conftoken\nendpoint_url = http://all.example\n"
                   "[profile bare]\nregion = x\n"
                   "[services mine]\nsts =\n  endpoint_url = http://sts.example\n"
                   "s3 =\n  endpoint_url = http://s3.example\n",
}


def test_profiles(world: World) -> None:
    for path, text in FILES.items():
        world.write(path, text)
    line = world.one("s3", "get")
    assert line.startswith(f"AKIADEF {hash_of('defsecret')} 0 1 profile \"default\" of ")
    assert world.one("s3", "profile=both", "get").split()[:2] == ["AKIACRED", hash_of("credsecret")]
    assert world.one("s3", "profile=conf", "get").split()[:2] == ["AKIACONF", hash_of("confsecret", "conftoken")]
    world.env["AWS_PROFILE"] = "conf"
    assert world.one("s3", "get").split()[0] == "AKIACONF"
    assert world.one("s3", "profile=both", "get").split()[0] == "AKIACRED"
    world.env |= {"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "envsecret"}
    assert world.one("s3", "get").split()[0] == "AKIAENV"  # before what AWS_PROFILE names,
    assert world.one("s3", "profile=both", "get").split()[0] == "AKIACRED"  # not before the option
    assert world.one("s3", "profile=bare", "get").split()[0] == "anonymous"


def test_settings_of_profiles(world: World) -> None:
    for path, text in FILES.items():
        world.write(path, text)
    assert world.one("s3", "settings") == "eu-north-1 "
    assert world.one("s3", "profile=both", "settings") == "ap-south-1 http://s3.example"
    assert world.one("s3", "profile=conf", "settings") == " http://all.example"
    world.env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true"
    assert world.one("s3", "profile=both", "settings") == "ap-south-1 "
    assert world.one("s3", "profile=gone", "settings").startswith("invalid credentials there is no profile \"gone\"")


def test_named_files(world: World) -> None:
    world.write("my/keys", FILES[".aws/credentials"])
    world.env["AWS_SHARED_CREDENTIALS_FILE"] = "~/my/keys"
    line = world.one("s3", "get")
    assert line.startswith("AKIADEF ") and line.endswith('/my/keys"')


def test_a_profile_that_is_not_there_is_an_error(world: World) -> None:
    world.write(".aws/credentials", FILES[".aws/credentials"])
    line = world.one("s3", "profile=gone", "get")
    assert line.startswith('invalid credentials profile "gone": it is not in ')
    world.env["AWS_PROFILE"] = "gone"
    assert world.one("s3", "get").startswith('invalid credentials profile "gone": ')


def test_a_file_that_is_none_is_an_error(world: World) -> None:
    world.write(".aws/config", "[default]\nSECRET\n")
    line = world.one("s3", "get")
    assert "line 2 is neither" in line and "SECRET" not in line + world.log


def test_a_file_that_cannot_be_read_is_an_error(world: World) -> None:
    file = world.home / ".aws/credentials"
    file.mkdir(parents=True)
    assert world.one("s3", "get") == f'storage credentials "{file}" is a directory, not a file'
    file.rmdir()
    os.mkfifo(file)
    assert world.one("s3", "get") == f'storage credentials "{file}" is a pipe, not a file'
    world.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(file)
    assert f'"{file}" is a pipe, not a file' in world.one("gs", "get")
    world.env["AWS_SHARED_CREDENTIALS_FILE"] = "/dev/null"
    assert world.one("s3", "get").startswith("anonymous ")


def test_keys_that_cannot_be_are_an_error_that_does_not_show_them(world: World) -> None:
    world.write(".aws/credentials", "[default]\naws_access_key_id = A SECRET\naws_secret_access_key = SECRET\n")
    line = world.one("s3", "get")
    assert "the access key id is empty, too long, or holds" in line and "SECRET" not in line + world.log


# --- S3: processes


def process(world: World, command: str) -> None:
    world.write(".aws/config", f"[default]\ncredential_process = {command}\n")


def test_credential_process(world: World) -> None:
    expires = int(time.time()) + 3600
    answer = {"Version": 1, "AccessKeyId": "AKIAPROC", "SecretAccessKey": "procsecret", "SessionToken": "proctoken",
              "Expiration": in_time(3600)}
    world.write("answer", json.dumps(answer))
    process(world, "echo SECRET >&2; cat ~/answer | cat")
    words = world.one("s3", "get").split(maxsplit=4)
    assert words[:2] == ["AKIAPROC", hash_of("procsecret", "proctoken")] and abs(int(words[2]) - expires) <= 1
    assert words[4] == 'credential_process of profile "default"' and "SECRET" not in world.log


@pytest.mark.parametrize(("command", "answer"), [
    ("exit 7", "denied credentials"),
    ("kill -9 $$", "denied credentials"),
    ("/no/such/program", "denied credentials"),
    ("echo SECRET", "invalid credentials"),
    ("true", "invalid credentials"),
    ("yes SECRET", "limit credentials"),
    ("sleep 50 | cat", "timeout credentials"),
    ("exec >&-; sleep 50", "timeout credentials"),
])
def test_a_process_that_fails_is_an_error(world: World, command: str, answer: str) -> None:
    process(world, command)
    begin = time.monotonic()
    line = world.one("s3", "timeout=700", "get")
    assert line.startswith(f'{answer} profile "default": its credential_process: '), line
    assert "SECRET" not in line + world.log and time.monotonic() - begin < 20


def test_a_process_ends_with_its_children_when_it_is_out_of_time(world: World) -> None:
    process(world, "sleep 300 & echo $! > ~/child; sleep 300")
    assert world.one("s3", "timeout=700", "get").startswith("timeout ")
    child = int((world.home / "child").read_text())
    for _ in range(100):
        stat = Path(f"/proc/{child}/stat")
        if not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("it lives on")


# --- S3: STS


def test_web_identity(world: World, double: Double) -> None:
    world.write("token", "the.identity\n")
    world.env |= {"AWS_WEB_IDENTITY_TOKEN_FILE": str(world.home / "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
                  "AWS_ENDPOINT_URL_STS": double.url}
    double.answers["POST", "/"] = (200, sts_answer("AssumeRoleWithWebIdentity"))
    words = world.one("s3", "get").split(maxsplit=4)
    assert words[:2] == ["ASIASTS", hash_of("sts secret", "sts/token=")]
    assert words[4] == "web identity (AWS_WEB_IDENTITY_TOKEN_FILE)"
    form = dict(parse_qsl(double.seen[0]["body"].decode()))
    assert form.pop("RoleSessionName").startswith("sdsfs-")
    assert form == {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15",
                    "RoleArn": "arn:aws:iam::1:role/r", "WebIdentityToken": "the.identity"}
    assert "authorization" not in double.seen[0]["headers"]
    del world.env["AWS_ROLE_ARN"]
    assert "AWS_ROLE_ARN is not" in world.one("s3", "get")


def test_web_identity_of_a_profile(world: World, double: Double) -> None:
    token = world.write("token", "the.identity")
    world.write(".aws/config", f"[profile w]\nrole_arn=arn:r\nrole_session_name=me\nweb_identity_token_file={token}\n"
                               f"services=s\n[services s]\nsts=\n  endpoint_url={double.url}\n")
    double.answers["POST", "/"] = (200, sts_answer("AssumeRoleWithWebIdentity"))
    assert world.one("s3", "profile=w", "get").split(maxsplit=4)[4] == 'web identity of profile "w"'
    assert dict(parse_qsl(double.seen[0]["body"].decode()))["RoleSessionName"] == "me"


ROLES = """
[profile base]
aws_access_key_id = AKIABASE
aws_secret_access_key = base/secret
aws_session_token = base token
[profile first]
role_arn = arn:aws:iam::1:role/first
source_profile = base
external_id = ext & id
duration_seconds = 1800
[profile second]
role_arn = arn:aws:iam::1:role/second
source_profile = first
[profile self]
role_arn = arn:self
source_profile = self
aws_access_key_id = AKIASELF
aws_secret_access_key = selfsecret
[profile loop]
role_arn = arn:loop
source_profile = pool
[profile pool]
role_arn = arn:pool
source_profile = loop
[profile env]
role_arn = arn:env
credential_source = Environment
[profile odd]
role_arn = arn:odd
credential_source = Elsewhere
[profile nobody]
role_arn = arn:nobody
[profile factor]
role_arn = arn:factor
source_profile = base
mfa_serial = arn:mfa
""".replace("base token", "base/token")


def test_roles(world: World, double: Double) -> None:
    world.write(".aws/config", ROLES)
    world.env |= {"AWS_ENDPOINT_URL_STS": double.url}
    number = itertools.count(1)
    double.answers["POST", "/"] = lambda _seen: (200, sts_answer("AssumeRole", key=f"ASIA{(n := next(number))}",
                                                                 secret=f"secret{n}", token=f"token{n}"))
    words = world.one("s3", "profile=first", "region=eu-west-1", "get").split(maxsplit=4)
    assert words[:2] == ["ASIA1", hash_of("secret1", "token1")] and words[4] == 'role of profile "first"'
    seen = double.seen[0]
    form = dict(parse_qsl(seen["body"].decode()))
    assert (form["Action"], form["ExternalId"], form["DurationSeconds"]) == ("AssumeRole", "ext & id", "1800")
    assert seen["headers"]["x-amz-security-token"] == "base/token"
    assert is_signed(seen, "base/secret", "eu-west-1")
    # A role by a role: the second is asked for with the keys of the first.
    assert world.one("s3", "profile=second", "get").startswith("ASIA3 ")
    assert is_signed(double.seen[2], "secret2", "us-east-1") and b"role%2Fsecond" in double.seen[2]["body"]
    assert world.one("s3", "profile=self", "get").startswith("ASIA4 ")
    assert is_signed(double.seen[3], "selfsecret", "us-east-1")
    world.env |= {"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "envsecret"}
    assert world.one("s3", "profile=env", "get").startswith("ASIA5 ")
    assert is_signed(double.seen[4], "envsecret", "us-east-1")


@pytest.mark.parametrize(("profile", "message"), [
    ("loop", "comes back to it"), ("odd", 'credential_source "Elsewhere" is none'),
    ("nobody", "neither source_profile nor credential_source"), ("factor", "mfa_serial"),
    ("env", "has no keys"),
])
def test_roles_that_cannot_be_taken(world: World, profile: str, message: str) -> None:
    world.write(".aws/config", ROLES)
    line = world.one("s3", f"profile={profile}", "get")
    assert line.split()[0] in {"invalid", "unsupported"} and message in line and f'profile "{profile}"' in line


def test_sts_refuses(world: World, double: Double) -> None:
    world.write(".aws/config", ROLES)
    world.env |= {"AWS_ENDPOINT_URL": double.url}
    double.answers["POST", "/"] = (403, b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>SECRET base/secret"
                                        b"</Message></Error></ErrorResponse>")
    line = world.one("s3", "profile=first", "get")
    assert line == 'denied credentials profile "first": STS: it answers with status 403, "AccessDenied"'
    assert "SECRET" not in world.log and len(double.seen) == 1


# --- S3: SSO


def sso(world: World, expires: float = 3600, name: str = "corp") -> None:
    world.write(".aws/config", "[profile s]\nsso_session = corp\nsso_account_id = 123\nsso_role_name = Reader/x\n"
                               "[profile old]\nsso_start_url = https://start.example\nsso_region = eu-west-1\n"
                               "sso_account_id = 123\nsso_role_name = Reader\n"
                               "[profile less]\nsso_session = corp\nsso_role_name = Reader\n"
                               "[profile lost]\nsso_session = gone\nsso_role_name = R\nsso_account_id = 1\n"
                               "[sso-session corp]\nsso_start_url = https://start.example\nsso_region = eu-west-1\n")
    world.write(f".aws/sso/cache/{hashlib.sha1(name.encode()).hexdigest()}.json",
                json.dumps({"accessToken": "ssotoken", "expiresAt": in_time(expires), "region": "eu-west-1"}))


SSO = {"roleCredentials": {"accessKeyId": "ASIASSO", "secretAccessKey": "ssosecret", "sessionToken": "ssosession",
                           "expiration": int(time.time() + 3600) * 1000}}


def test_sso(world: World, double: Double) -> None:
    sso(world)
    world.env["AWS_ENDPOINT_URL_SSO"] = double.url
    double.answers["GET", "/federation/credentials"] = (200, SSO)
    words = world.one("s3", "profile=s", "get").split(maxsplit=4)
    assert words[:2] == ["ASIASSO", hash_of("ssosecret", "ssosession")] and words[4] == 'SSO of profile "s"'
    assert double.seen[0]["query"] == {"role_name": "Reader/x", "account_id": "123"}
    assert double.seen[0]["headers"]["x-amz-sso_bearer_token"] == "ssotoken"
    assert "there is no token of a login" in world.one("s3", "profile=old", "get")
    sso(world, name="https://start.example")
    assert world.one("s3", "profile=old", "get").startswith("ASIASSO ")
    assert "there is no sso_account_id" in world.one("s3", "profile=less", "get")
    assert 'no sso-session "gone"' in world.one("s3", "profile=lost", "get")


def test_sso_login_is_over(world: World, double: Double) -> None:
    sso(world, expires=-5)
    world.env["AWS_ENDPOINT_URL_SSO"] = double.url
    assert "has expired (aws sso login" in world.one("s3", "profile=s", "get")
    sso(world)
    double.answers["GET", "/federation/credentials"] = (401, {"message": "ssotoken"})
    line = world.one("s3", "profile=s", "get")
    assert line.startswith("denied ") and "is refused (aws sso login" in line and "ssotoken" not in line


# --- S3: containers and machines


def keys(n: int = 1, seconds: float = 3600) -> dict:
    return {"AccessKeyId": f"ASIA{n}", "SecretAccessKey": f"secret{n}", "Token": f"token{n}",
            "Expiration": in_time(seconds)}


def test_container(world: World, double: Double) -> None:
    world.env |= {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{double.url}/keys?x=1",
                  "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic of environment"}
    double.answers["GET", "/keys"] = (200, keys())
    words = world.one("s3", "get").split(maxsplit=4)
    assert words[:2] == ["ASIA1", hash_of("secret1", "token1")] and words[4] == "the container's endpoint"
    assert double.seen[0]["headers"]["authorization"] == "Basic of environment" and double.seen[0]["query"] == {"x": "1"}
    world.env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = str(world.write("token", "of file\n"))
    world.one("s3", "get")
    assert double.seen[1]["headers"]["authorization"] == "of file"
    world.write("token", "two\nlines")
    assert "its token holds bytes" in world.one("s3", "get")


def test_container_elsewhere_is_refused(world: World) -> None:
    world.env |= {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.org/keys"}
    line = world.one("s3", "get")
    assert line.startswith("invalid credentials the container's endpoint") and '"example.org" without encryption' in line


@pytest.mark.parametrize(("answer", "kind", "times"), [
    ((500, b"SECRET"), "storage", 3),
    ((429, b"SECRET"), "storage", 3),
    ((403, {"code": "Forbidden", "message": "SECRET"}), "denied", 1),
    ((200, b"SECRET{"), "invalid", 1),
    ((200, b"x" * 2_000_000), "storage", 3),
    ((302, b"", ("Location", "http://example.org/")), "denied", 1),
    ("close", "storage", 3),
])
def test_broken_answers(world: World, double: Double, answer: object, kind: str, times: int) -> None:
    world.env |= {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{double.url}/keys"}
    double.answers["GET", "/keys"] = answer
    line = world.one("s3", "get")
    assert line.startswith(f"{kind} credentials the container's endpoint"), line
    assert "SECRET" not in line + world.log and len(double.seen) >= times


def test_an_answer_that_does_not_come(world: World, double: Double) -> None:
    world.env |= {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{double.url}/keys"}
    double.answers["GET", "/keys"] = "stall"
    line = world.one("s3", "timeout=1500", "get")
    assert line.startswith("timeout credentials the container's endpoint"), line


def test_it_gets_better(world: World, double: Double) -> None:
    world.env |= {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{double.url}/keys"}
    answers = iter([(503, b""), "close", (200, keys())])
    double.answers["GET", "/keys"] = lambda _seen: next(answers)
    assert world.one("s3", "get").startswith("ASIA1 ")


ROLE = "/latest/meta-data/iam/security-credentials/"


def machine(world: World, double: Double) -> None:
    del world.env["AWS_EC2_METADATA_DISABLED"]
    world.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = double.url + "/"

    def only_with_token(answer: tuple):
        return lambda seen: answer if seen["headers"].get("x-aws-ec2-metadata-token") == "v2token" else (401, b"")

    double.answers |= {("PUT", "/latest/api/token"): (200, b"v2token"),
                       ("GET", ROLE): only_with_token((200, b"my-role\n")),
                       ("GET", ROLE + "my-role"): only_with_token((200, keys() | {"Code": "Success"}))}


def test_machine(world: World, double: Double) -> None:
    machine(world, double)
    words = world.one("s3", "get").split(maxsplit=4)
    assert words[:2] == ["ASIA1", hash_of("secret1", "token1")] and words[4] == 'the machine\'s role "my-role" (EC2)'
    assert double.seen[0]["headers"]["x-aws-ec2-metadata-token-ttl-seconds"] == "21600"
    double.answers["GET", ROLE] = (404, b"")
    assert world.one("s3", "get").startswith("anonymous ")
    double.answers["GET", ROLE] = (200, b"../../x")
    assert "answers with no role" in world.one("s3", "get")
    double.answers["PUT", "/latest/api/token"] = (403, b"")
    assert world.one("s3", "get").startswith("denied credentials the machine's metadata service (EC2)")
    world.env["AWS_EC2_METADATA_DISABLED"] = "TRUE"
    assert world.one("s3", "get").startswith("anonymous ")


def test_a_machine_without_metadata_is_soon_known(world: World) -> None:
    del world.env["AWS_EC2_METADATA_DISABLED"]
    del world.env["NO_GCE_CHECK"]
    for provider in ("s3", "gcs"):
        begin = time.monotonic()
        line = world.one(provider, "get")
        assert line.split()[0] in {"anonymous", "ASIA1"} or "metadata service" in line
        assert time.monotonic() - begin < 10


def test_order(world: World, double: Double) -> None:
    machine(world, double)
    assert "(EC2)" in world.one("s3", "get")
    world.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = f"{double.url}/keys"
    double.answers["GET", "/keys"] = (200, keys())
    assert "container" in world.one("s3", "get")
    world.write(".aws/credentials", FILES[".aws/credentials"])
    assert 'profile "default"' in world.one("s3", "get")
    world.env |= {"AWS_WEB_IDENTITY_TOKEN_FILE": str(world.write("t", "x")), "AWS_ROLE_ARN": "r",
                  "AWS_ENDPOINT_URL_STS": double.url}
    double.answers["POST", "/"] = (200, sts_answer("AssumeRoleWithWebIdentity"))
    assert "web identity" in world.one("s3", "get")
    world.env |= {"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "envsecret"}
    assert "the environment" in world.one("s3", "get")
    assert 'profile "both"' in world.one("s3", "profile=both", "get")


# --- expiry and refusals


def test_what_ends_is_replaced(world: World, double: Double) -> None:
    number = itertools.count(1)
    world.env |= {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{double.url}/keys"}
    double.answers["GET", "/keys"] = lambda _seen: (200, keys(next(number), seconds=3600))
    program = world.start("s3", "get", "get", "line", "later=3600", "get")
    first = program.stdout.readline().split()
    second = program.stdout.readline().split()
    assert first[0] == second[0] == "ASIA1" and len(double.seen) == 1
    double.answers["GET", "/keys"] = lambda _seen: (200, keys(next(number), seconds=7200))
    program.stdin.write("\n")
    program.stdin.flush()
    third = program.stdout.readline().split()
    assert third[0] == "ASIA2" and third[3] == "2"
    assert program.wait(20) == 0


def test_it_is_replaced_ahead_without_waiting(world: World, double: Double) -> None:
    world.env |= {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{double.url}/keys"}
    answers = iter([(200, keys(1, seconds=3600)), "stall"])
    asked = threading.Event()

    def answer(_seen: dict):
        if len(double.seen) > 1:
            asked.set()
        return next(answers, "stall")

    double.answers["GET", "/keys"] = answer
    # Ten minutes before the end it is looked for again, which nobody waits for until the last minute.
    program = world.start("s3", "get", "later=3100", "get", "line", "get", "line")
    read = program.stdout.readline
    assert read().split()[0] == read().split()[0] == "ASIA1" and asked.wait(10)
    program.stdin.write("\n")
    program.stdin.flush()
    assert read().split()[0] == "ASIA1"
    program.stdin.write("\n")
    program.stdin.flush()
    assert program.wait(20) == 0


def test_an_answer_that_has_ended_already(world: World, double: Double) -> None:
    world.env |= {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{double.url}/keys"}
    double.answers["GET", "/keys"] = (200, keys(seconds=-10))
    assert world.one("s3", "get") == "storage credentials the container's endpoint: what it gives has ended already"


def test_refused_keys_are_read_again_once(world: World) -> None:
    world.write(".aws/credentials", FILES[".aws/credentials"])
    program = world.start("s3", "get", "renew", "get", "renew", "line", "get")
    read = program.stdout.readline
    assert read().split()[0] == "AKIADEF"
    assert read() == "again\n" and read().split()[0] == "AKIADEF"
    assert read() == "stands\n"
    program.stdin.write("\n")
    program.stdin.flush()
    assert read().split()[3] == "1"
    assert program.wait(20) == 0


def test_keys_that_were_replaced_are_found(world: World) -> None:
    world.write(".aws/credentials", FILES[".aws/credentials"])
    program = world.start("s3", "get", "line", "renew", "take", "renew", "get")
    read = program.stdout.readline
    assert read().split()[0] == "AKIADEF"
    world.write(".aws/credentials", "[default]\naws_access_key_id=AKIANEW\naws_secret_access_key=newsecret\n")
    program.stdin.write("\n")
    program.stdin.flush()
    assert read() == "again\n"
    assert read().split()[:4] == ["AKIANEW", hash_of("newsecret"), "0", "2"]
    assert read() == "again\n" and read().split()[3] == "2"
    assert program.wait(20) == 0


def test_a_failure_is_over_when_its_cause_is(world: World) -> None:
    world.write(".aws/credentials", "nonsense")
    program = world.start("s3", "get", "get", "line", "get")
    read = program.stdout.readline
    assert read().startswith("invalid ") and read().startswith("invalid ")
    world.write(".aws/credentials", FILES[".aws/credentials"])
    time.sleep(1.1)  # a failure stands for a second
    program.stdin.write("\n")
    program.stdin.flush()
    assert read().startswith("AKIADEF ")
    assert program.wait(20) == 0


# --- Google


def test_google_environment(world: World) -> None:
    world.env["GOOGLE_OAUTH_ACCESS_TOKEN"] = "ya29.b"
    line = world.one("gcs", "get")
    assert line.strip().split(maxsplit=3) == [hash_of("", "ya29.b"), "0", "1",
                                              "the environment (GOOGLE_OAUTH_ACCESS_TOKEN)"]
    world.env["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "ya29.a"
    assert hash_of("", "ya29.a") in world.one("gcs", "get")
    world.env["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "SECRET with spaces"
    line = world.one("gcs", "get")
    assert line.startswith("invalid credentials CLOUDSDK_AUTH_ACCESS_TOKEN") and "SECRET" not in line


def token(double: Double, text: str = "ya29.token", seconds: int = 3600) -> None:
    double.answers["POST", "/token"] = (200, {"access_token": text, "expires_in": seconds, "token_type": "Bearer"})


def service_account(world: World, double: Double, **more: str) -> Path:
    return world.write("account.json", json.dumps({
        "type": "service_account", "client_email": "robot@project.example", "private_key_id": "k1",
        "private_key": (KEYS / "service_account.pem").read_text(), "token_uri": f"{double.url}/token"} | more))


def part(text: str) -> dict:
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def test_service_account(world: World, double: Double) -> None:
    world.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(service_account(world, double))
    token(double)
    words = world.one("gcs", "get").strip().split(maxsplit=3)
    assert words[0] == hash_of("", "ya29.token") and 3590 < int(words[1]) - time.time() < 3610
    assert words[3].startswith("service account of ")
    form = parse_qs(double.seen[0]["body"].decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    head, claims, signature = form["assertion"][0].split(".")
    assert part(head) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    said = part(claims)
    assert (said["iss"], said["scope"], said["aud"]) == ("robot@project.example", SCOPE, f"{double.url}/token")
    assert said["exp"] - said["iat"] == 3600 and abs(said["iat"] - time.time()) < 10
    signed = world.write("signed", f"{head}.{claims}")
    (world.home / "signature").write_bytes(base64.urlsafe_b64decode(signature + "=="))
    subprocess.run(["openssl", "dgst", "-sha256", "-verify", KEYS / "service_account.pub", "-signature",
                    world.home / "signature", signed], check=True, capture_output=True)


def test_service_account_elsewhere_is_refused(world: World, double: Double) -> None:
    file = service_account(world, double, token_uri="http://example.org/token")
    world.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(file)
    assert '"example.org" without encryption' in world.one("gcs", "get")
    service_account(world, double, private_key="SECRET")
    line = world.one("gcs", "get")
    assert "its private key is no RSA key" in line and "SECRET" not in line


def test_user(world: World, double: Double) -> None:
    world.write(".config/gcloud/application_default_credentials.json", json.dumps({
        "type": "authorized_user", "client_id": "id", "client_secret": "client&secret", "refresh_token": "1//r",
        "token_uri": f"{double.url}/token"}))
    token(double)
    assert "user of " in world.one("gcs", "get")
    assert dict(parse_qsl(double.seen[0]["body"].decode())) == {
        "grant_type": "refresh_token", "client_id": "id", "client_secret": "client&secret", "refresh_token": "1//r"}
    double.answers["POST", "/token"] = (400, {"error": "invalid_grant", "error_description": "SECRET 1//r"})
    line = world.one("gcs", "get")
    assert line.endswith('the token endpoint: it answers with status 400, "invalid_grant"') and "SECRET" not in line
    world.env["CLOUDSDK_CONFIG"] = str(world.home / "other")
    assert world.one("gcs", "get").startswith("anonymous ")


def external(world: World, double: Double, source: dict, **more: str) -> None:
    file = world.write("external.json", json.dumps({
        "type": "external_account", "audience": "//iam/pool", "subject_token_type": "urn:jwt",
        "token_url": f"{double.url}/token", "credential_source": source} | more))
    world.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(file)


def test_external_account(world: World, double: Double) -> None:
    token(double)
    subject = world.write("subject", "the.subject\n")
    external(world, double, {"file": str(subject)})
    assert "external account of " in world.one("gcs", "get")
    form = dict(parse_qsl(double.seen[0]["body"].decode()))
    assert (form["subject_token"], form["audience"], form["scope"], form["subject_token_type"]) == (
        "the.subject", "//iam/pool", SCOPE, "urn:jwt")
    external(world, double, {"url": f"{double.url}/subject", "headers": {"X-Mine": "yes"},
                             "format": {"type": "json", "subject_token_field_name": "t"}})
    double.answers["GET", "/subject"] = (200, {"t": "by.url"})
    world.one("gcs", "get")
    assert double.seen[1]["headers"]["x-mine"] == "yes"
    assert dict(parse_qsl(double.seen[2]["body"].decode()))["subject_token"] == "by.url"


def test_impersonation(world: World, double: Double) -> None:
    token(double, "ya29.first")
    external(world, double, {"file": str(world.write("subject", "s"))},
             service_account_impersonation_url=f"{double.url}/robot:generateAccessToken")
    double.answers["POST", "/robot:generateAccessToken"] = (200, {"accessToken": "ya29.robot",
                                                                 "expireTime": in_time(1800)})
    assert hash_of("", "ya29.robot") in world.one("gcs", "get")
    assert double.seen[1]["headers"]["authorization"] == "Bearer ya29.first"
    assert json.loads(double.seen[1]["body"])["scope"] == [SCOPE]
    assert dict(parse_qsl(double.seen[0]["body"].decode()))["scope"].endswith("cloud-platform")
    double.answers["POST", "/robot:generateAccessToken"] = (403, {"error": {"status": "PERMISSION_DENIED",
                                                                           "message": "SECRET"}})
    line = world.one("gcs", "get")
    assert line.startswith("denied ") and '"PERMISSION_DENIED"' in line and "SECRET" not in line


@pytest.mark.parametrize(("text", "message"), [
    ('{"type": "gdch_service_account"}', 'its type "gdch_service_account" is not one'),
    ('{"type": 1}', '"type" in it is no text'), ("SECRET", "is not JSON"), ("[]", "is not a JSON object"),
    ('{"type": "service_account", "SECRET": 1}', 'no "client_email" in it'),
    ('{"type": "external_account", "token_url": "https://x", "credential_source": {"environment_id": "aws1"}}',
     "neither a file nor a URL"),
])
def test_files_that_do_not_work(world: World, text: str, message: str) -> None:
    world.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(world.write("file.json", text))
    line = world.one("gcs", "get")
    assert message in line and "file.json" in line and "SECRET" not in line


def test_a_file_that_is_named_has_to_be_there(world: World) -> None:
    world.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(world.home / "gone.json")
    assert world.one("gcs", "get").startswith("invalid credentials GOOGLE_APPLICATION_CREDENTIALS: ")


METADATA = "/computeMetadata/v1/instance/service-accounts/default/token"
FLAVOR = ("Metadata-Flavor", "Google")


def test_google_machine(world: World, double: Double) -> None:
    del world.env["NO_GCE_CHECK"]
    world.env["GCE_METADATA_HOST"] = double.host
    answer = {"access_token": "ya29.machine", "expires_in": 3000, "token_type": "Bearer"}
    double.answers["GET", METADATA] = (200, answer, FLAVOR)
    line = world.one("gcs", "get")
    assert hash_of("", "ya29.machine") in line and line.endswith("the machine's service account (Google)")
    assert double.seen[0]["headers"]["metadata-flavor"] == "Google"
    double.answers["GET", METADATA] = (200, answer)
    assert "is not a metadata service of Google's" in world.one("gcs", "get")
    double.answers["GET", METADATA] = (404, b"", FLAVOR)
    assert world.one("gcs", "get").startswith("anonymous ")
    double.answers["GET", METADATA] = (500, b"", FLAVOR)
    assert world.one("gcs", "get").startswith("storage credentials the machine's metadata service (Google)")
    # What is not Google's does not get the machine's token.
    seen = len(double.seen)
    assert world.one("gcs", "endpoint=https://objects.example", "get").startswith("anonymous ")
    world.env["STORAGE_EMULATOR_HOST"] = "localhost:1"
    assert world.one("gcs", "get").startswith("anonymous ")
    assert len(double.seen) == seen


def test_tokens_are_replaced(world: World, double: Double) -> None:
    world.env["GOOGLE_APPLICATION_CREDENTIALS"] = str(service_account(world, double))
    number = itertools.count(1)
    double.answers["POST", "/token"] = lambda _seen: (200, {"access_token": f"t{next(number)}", "expires_in": 3600})
    lines = world.run("gcs", "get", "take", "renew", "take", "get")
    assert [line.split()[0] for line in lines] == [hash_of("", "t1")] * 2 + ["again"] + [hash_of("", "t2")] * 2
