package secrets

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// planted are secrets that have nothing in common with anything else.
func planted() map[string]string {
	return map[string]string{
		"token": "tok-5f1b9c77e0a2-swordfish",
		"odd":   `Quote"d & 'sing%le' <b> back\slash 7731`,
		"lines": "line-one-9a41cc\nline-two-77ab02\nline-three-e1\n",
		"old":   "value-before-rotation-31337",
		"hash":  "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$tnSYvahCwPBHKZUspmcxMfb0.WiB9W.zEaKlOBL35rC",
	}
}

// wanted are the forms in which the test looks: each line of a longer secret is
// one.
func wanted() map[string]string {
	out := map[string]string{}
	for name, v := range planted() {
		for _, l := range strings.Split(strings.TrimSpace(v), "\n") {
			out[name+" "+l[:4]] = l
		}
	}
	return out
}

const everywhere = `target "local" {}
variable "token" { default = secret("token") }
locals {
  url = "postgres://app:${urlencode(secret("odd"))}@db/app"
}
directory "SRV" {}
directory "SRV/app" {}
file "SRV/app/token" { secret = "lines" }
file "SRV/app/conf" {
  content  = jsonencode({ url = local.url, token = var.token, plain = [for l in split("\n", secret("lines")) : upper(l)] })
  mode     = "0640"
  validate = "grep -q postgres %s"
}
file "SRV/app/env" {
  template = "env.tmpl"
  vars     = { token = var.token, odd = secret("odd") }
}
ini_key "db.password" {
  path   = "SRV/app/db.ini"
  value  = var.token
  create = true
}
ini_key "db.port" {
  path   = "SRV/app/db.ini"
  value  = 5432
  create = true
}
json_key "store.url" {
  path   = "SRV/app/db.json"
  value  = { url = local.url, on = true }
  create = true
}
yaml_key "store.password" {
  path   = "SRV/app/db.yaml"
  value  = secret("odd")
  create = true
}
file_line "TOKEN" {
  path   = "SRV/app/.env"
  key    = "TOKEN"
  value  = var.token
  create = true
}
file_line "url" {
  path  = "SRV/app/theirs"
  match = "^url "
  line  = "url ${local.url}"
}
file_block "more" {
  path    = "SRV/app/theirs"
  content = "with ${secret("token")}\n${secret("lines")}"
}
exec "hello" {
  command = ["sh", "-c", "echo \"$TOKEN $ODD\" >&2; test -n \"$TOKEN\" && touch SRV/app/done"]
  env     = { TOKEN = var.token, ODD = secret("odd") }
  creates = "SRV/app/done"
  unless  = ["sh", "-c", "echo guard $TOKEN; exit 1"]
}
check "file" {
  exec = "cat SRV/app/token"
}
`

// broken are revisions that fail, each with the word that it fails with.
var broken = map[string][2]string{
	"a validation prints the file": {"rejected the new file", `file "SRV/app/conf" {
  content  = "pw = ${secret("token")}\nodd = ${secret("odd")}\n"
  validate = "sh -c \"cat %s >&2; base64 -w0 %s >&2; exit 1\""
}`},
	"a validation in place prints the file": {"rejected the new file", `file "SRV/app/conf" {
  content  = "pw = ${secret("token")}\nodd = ${secret("odd")}\n${secret("lines")}"
  validate = "sh -c \"cat SRV/app/conf; exit 1\""
}`},
	"a command prints its environment": {"exit code 3", `exec "bad" {
  command = ["sh", "-c", "env; echo \"$ODD\"; printf %s \"$TOKEN\" | base64 -w0; printf %s \"$TOKEN\" | od -An -v -tx1 | tr -d ' \\n'; exit 3"]
  env     = { TOKEN = secret("token"), ODD = secret("odd"), LINES = secret("lines") }
}`},
	"a check prints a file": {"exit code", `file "SRV/app/token" { secret = "lines" }
check "prints" {
  exec   = "sh -c \"cat SRV/app/token; exit 1\""
  within = "1s"
}`},
}

// mistakes are repositories that do not compile.
var mistakes = map[string][2]string{
	"a number that is none": {"does not show", `file "SRV/x" { content = "${parseint(secret("token"), 10)}" }`},
	"a number of a changed text": {"does not show",
		`file "SRV/x" { content = "${parseint(upper(secret("token")), 10)}" }`},
	"an attribute that is none":     {"", `file "SRV/x" { content = { a = "b" }[secret("token")] }`},
	"an attribute of a changed one": {"", `file "SRV/x" { content = { a = "b" }[upper(secret("token"))] }`},
	"a path": {"visible place",
		"file \"x\" {\n path = \"/srv/${secret(\"token\")}\"\n content = \"x\"\n}"},
	"a path of a region": {"visible place",
		"file_line \"x\" {\n path = \"/srv/${secret(\"token\")}\"\n line = \"x\"\n}"},
	"a line without match": {"Secret line without match", "file_line \"SRV/x\" {\n line = secret(\"token\")\n}"},
	"lines in a line":      {"line break", "file_line \"SRV/x\" {\n key = \"a\"\n value = secret(\"lines\")\n}"},
	"lines in INI": {"cannot represent",
		"ini_key \"a.b\" {\n path = \"SRV/x\"\n value = secret(\"lines\")\n}"},
	"a password that is no hash": {"No hash of a password", "user \"x\" { password_hash = secret(\"token\") }"},
	"a hash in the open":         {"secret", "user \"x\" { password_hash = \"$y$open\" }"},
	"the name of a user":         {"visible place", "user \"x\" { comment = secret(\"token\") }"},
	"a word of a command":        {"visible place", `exec "x" { command = ["echo", secret("token")] }`},
	"a condition": {"visible place",
		"file \"SRV/x\" {\n content = \"x\"\n when = secret(\"token\") == \"y\"\n}"},
	"a loop": {"visible place",
		"file \"SRV/x\" {\n content = \"x\"\n for_each = toset([secret(\"token\")])\n}"},
	"JSON that is none": {"does not show", `file "SRV/x" { content = jsondecode("[${secret("token")}")[0] }`},
	"a validation": {"Invalid value",
		"variable \"v\" {\n default = secret(\"token\")\n validation {\n  condition = var.v == \"other\"\n  error_message = \"No: ${var.v}\"\n }\n}\nfile \"SRV/x\" { content = var.v }"},
	"a template": {"null",
		"file \"SRV/x\" {\n template = \"bad.tmpl\"\n vars = { token = secret(\"token\") }\n}"},
	"a name": {"not the name of a secret", `file "SRV/x" { content = secret("../token") }`},
}

// TestNothingShows: none of the planted secrets is in anything that the program
// says, writes or leaves, but in the files that they are for.
func TestNothingShows(t *testing.T) {
	s := newSite(t)
	for name, v := range planted() {
		s.ok(v, "secret", "set", name)
	}
	s.write("env.tmpl", "TOKEN=${token}\n%{ for c in [odd] }ODD=${c}\n%{ endfor }LINES=${secret(\"lines\")}\n")
	s.write("bad.tmpl", "a ${token} ${null}")
	s.write("fettle.hcl", everywhere)
	s.must(os.MkdirAll(filepath.Join(s.srv, "app"), 0o755))
	s.must(os.WriteFile(filepath.Join(s.srv, "app/conf"), []byte("before: "+planted()["old"]), 0o600))
	s.must(os.WriteFile(filepath.Join(s.srv, "app/theirs"), []byte("mine\nurl "+planted()["old"]+"\n"), 0o600))
	s.commit()

	s.ok("", "validate")
	s.ok("", "compile")
	s.ok("", "compile", "--json")
	s.ok("", "explain", "var", "token")
	s.ok("", "explain", "var", "token", "--json")
	s.run("", "plan", "-v")
	s.run("", "plan", "--json")
	saved := filepath.Join(s.home, "saved.plan")
	s.run("", "plan", "-o", saved)
	s.ok("", "apply", "--yes", saved)
	s.sound()
	s.ok("", "apply", "--yes", "-v")
	s.must(os.WriteFile(filepath.Join(s.srv, "app/token"), []byte("somebody wrote "+planted()["old"]), 0o600))
	s.must(os.WriteFile(filepath.Join(s.srv, "app/theirs"), []byte("mine\nurl changed-to-"+planted()["old"]+"\n"), 0o600))
	s.run("", "drift", "-v")
	s.run("", "drift", "--json")
	s.ok("", "apply", "--yes", "--json")
	s.sound()
	for _, why := range slices.Sorted(maps.Keys(broken)) {
		b := broken[why]
		t.Run(why, func(t *testing.T) {
			s.write("fettle.hcl", "target \"local\" {}\ndirectory \"SRV\" {}\ndirectory \"SRV/app\" {}\n"+b[1]+"\n")
			s.commit()
			s.fails(b[0], "apply", "--yes")
			s.fails(b[0], "apply", "--yes", "--json", "--on-failure", "undo")
		})
	}
	for _, why := range slices.Sorted(maps.Keys(mistakes)) {
		m := mistakes[why]
		t.Run(why, func(t *testing.T) {
			top := "target \"local\" {}\ndirectory \"SRV\" {}\n"
			s.write("fettle.hcl", top+m[1]+"\n")
			s.commit()
			s.fails(m[0], "validate")
			s.fails(m[0], "plan", "-t", "local", "--json")
		})
	}
	s.write("fettle.hcl", everywhere)
	s.commit()
	s.ok("", "apply", "--yes")
	s.run("", "diff", "HEAD~1", "HEAD")
	s.ok(planted()["old"]+"-new", "secret", "set", "token")
	s.commit()
	s.run("", "diff", "HEAD~1", "HEAD")
	s.ok("", "apply", "--yes")
	s.ok("", "rollback", "--yes", "-v")
	s.sound()
	s.ok("", "log", "--json")
	s.ok("", "log", "-v")
	for _, run := range []string{"1", "2", "3", "5"} {
		s.run("", "show", run, "-v")
		s.run("", "show", run, "--json")
		s.ok("", "show", run, "--diff")
	}
	s.ok("", "status", "--json")
	s.ok("", "secret", "list")
	s.run("", "support-bundle", "-o", filepath.Join(s.home, "bundle.tar.gz"))
	s.run("", "explain", filepath.Join(s.srv, "app/conf"))
	s.dumps()

	leaks := leak("what was said", s.said.Bytes(), wanted())
	files := 0
	for _, dir := range []string{s.state, s.home, s.repo, s.cores, "/run/fettle"} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		n, more := s.files(dir, wanted())
		files, leaks = files+n, append(leaks, more...)
	}
	for _, l := range leaks {
		t.Error(l)
	}
	t.Logf("%d commands said %d bytes; %d files", s.commands, s.said.Len(), files)
	if s.commands < 60 || s.said.Len() < 50_000 || files < 60 {
		t.Error("too little was looked at to mean anything")
	}
	if strings.Count(s.said.String(), "(secret)") < 6 {
		t.Errorf("what commands printed was not masked %d times", strings.Count(s.said.String(), "(secret)"))
	}
}

// sound wants the secrets where they are for.
func (s *site) sound() {
	s.t.Helper()
	for file, text := range map[string]string{
		"app/token": planted()["lines"], "app/env": "TOKEN=" + planted()["token"] + "\nODD=" + planted()["odd"],
		"app/db.ini": "[db]\npassword=" + planted()["token"] + "\nport=5432\n",
		"app/.env":   "TOKEN=" + planted()["token"] + "\n",
		"app/theirs": "mine\nurl postgres://app:Quote%22d",
	} {
		b, err := os.ReadFile(filepath.Join(s.srv, file))
		if err != nil || !strings.HasPrefix(string(b), text) {
			s.t.Errorf("%s holds %q (%v)", file, b, err)
		}
	}
	st, err := os.Stat(filepath.Join(s.srv, "app/token"))
	if err != nil || st.Mode().Perm() != 0o600 {
		s.t.Errorf("the mode is %v (%v)", st.Mode(), err)
	}
}
