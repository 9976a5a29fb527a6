package compile_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

func commandRepository(main string) *compile.Repository {
	return compile.Open(repo.MapTree(map[string]string{
		"fettle.hcl":             "target \"h\" { modules = [\"web\"] }\ntarget \"bare\" {}\n" + main,
		"modules/web/module.hcl": actionModule + secretAction,
		"modules/old/module.hcl": "action \"gone\" { command = [\"true\"] }\n",
	}))
}

const secretAction = `action "login" {
  param "token" {
    type   = string
    secret = true
  }
  param "note" { default = "none" }
  command = ["login", param.note]
  env     = { TOKEN = "Bearer ${param.token}", NOTE = param.note }
}
`

const rolling = `command "rolling" {
  description = "one after the other"
  targets     = ["role:web", "!bare"]
  param "seconds" {
    type    = number
    default = 30
  }
  param "key" {
    default = ""
    secret  = true
  }
  part "drain" {
    action = "drain"
    params = { seconds = param.seconds, why = "rolling" }
    batch  = 1
  }
  part "login" {
    targets    = "h"
    action     = "web.login"
    params     = { token = param.key }
    max_failed = "10%"
  }
  part "look" {
    command = [["uptime"], ["echo", "${param.seconds}"]]
    changes = false
    env     = { KEY = param.key, B = "b" }
    timeout = "30s"
    user    = "nobody"
  }
}
`

// partsText returns parts as text.
func partsText(parts []query.Part) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%s on %v: %s%v %v secret %v env %v %s %s looks %v batch %q max %s\n", p.Name, p.Targets, p.Action,
			p.Params, p.Argv, p.Secret, p.Env, p.User, p.Timeout, p.ReadOnly, p.Batch, p.MaxFailed)
	}
	return b.String()
}

// TestCallCommand gives parts, or says what is wrong.
func TestCallCommand(t *testing.T) {
	whole := `drain on [role:web !bare]: drainmap[seconds:7 why:rolling] [] secret [] env []  0s looks false batch "1" max 0
login on [h]: web.loginmap[token:hunter2] [] secret [token] env []  0s looks false batch "" max 10%
look on [role:web !bare]: map[] [[uptime] [echo 7]] secret [] env [B=b KEY=hunter2] nobody 30s looks true batch "" max 0
`
	for name, c := range map[string]struct{ params, want string }{
		"called":  {"seconds=7,key=hunter2", whole},
		"unknown": {"secons=7", `The command "rolling" has no parameter "secons". Did you mean "seconds"?`},
		"type":    {"seconds=x", `The parameter "seconds" of the command "rolling" must be a number, and the value is "x".`},
	} {
		params := map[string]string{}
		for _, p := range strings.Split(c.params, ",") {
			k, v, _ := strings.Cut(p, "=")
			params[k] = v
		}
		parts, ds := commandRepository(rolling).CallCommand("rolling", params)
		if got := partsText(parts) + shown(ds); got != c.want && (!ds.HasErrors() || !strings.Contains(got, c.want)) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
	all, ds := commandRepository(rolling).Runnable()
	if ds.HasErrors() || len(all.Commands) != 1 || strings.Join(all.Commands[0].Parts, " ") != "drain login look" ||
		len(all.Commands[0].Params) != 2 {
		t.Errorf("%+v %s", all.Commands, shown(ds))
	}
	last := all.Actions[0]
	if last.ID() != "old.gone" || len(last.Targets) != 0 {
		t.Errorf("what no target has: %+v", last)
	}
}

// TestBadCommands: errors in a declaration are reported before the command is called, except errors
// that depend on its parameters.
func TestBadCommands(t *testing.T) {
	part := func(text string) string { return "command \"c\" {@part \"p\" {@" + text + "@}@}" }
	for text, want := range map[string]string{
		`command "c" {}`: "Command without a part",
		`command "c d" {@part "p" {@command = ["x"]@}@}`:                                    "Bad name for a command",
		part(`command = ["x"]`) + "@" + part(`command = ["x"]`):                             "Command declared twice",
		`command "c" {@part "p" {@command = ["x"]@}@part "p" {@command = ["x"]@}@}`:         "Part declared twice",
		`command "c" {@prt "p" {@command = ["x"]@}@}`:                                       `Did you mean "part"?`,
		part(`targets = ["h"]`):                                                             "Part without an action or a command",
		part("action = \"drain\"@command = [\"x\"]"):                                        "Part without an action or a command",
		part("command = [\"x\"]@params = {}"):                                               "Parameters without an action",
		part("action = \"web.look\"@timeout = \"3s\""):                                      "Attribute of the action",
		part("action = \"drian\""):                                                          `Did you mean "drain"?`,
		part("action = \"service-restrat\"@params = { name = \"x\" }"):                      `Did you mean "service-restart"?`,
		part("action = \"web.drain\""):                                                      `The parameter "why" of the action "drain" has no default`,
		part("action = \"web.drain\"@params = { wy = 1, why = \"x\" }"):                     `no parameter "wy". Did you mean "why"?`,
		part("action = \"service-restart\""):                                                `The parameter "name" of the action "service-restart" has no default`,
		part("command = [\"x\", fact.hostname]"):                                            "Not known in a command",
		part("command = [\"x\", param.y]"):                                                  `The command c has no parameter "y"`,
		part("command = [\"x\"]@batch = \"many\""):                                          "Bad number of targets",
		part("command = [\"x\"]@timeout = \"long\""):                                        "Invalid duration",
		part("command = [\"x\"]@changes = \"no\""):                                          "True or false expected",
		part("command = []"):                                                                "A command must be a list of words",
		part("command = [\"x\"]@targets = []"):                                              "targets must be a list with at least one string",
		part("action = \"web.drain\"@params = 3"):                                           "params must be an object",
		`command "drain" {@part "p" {@command = ["x"]@}@}`:                                  "fettle run cannot distinguish the two",
		`command "service-restart" {@part "p" {@command = ["x"]@}@}`:                        "There is a built-in action",
		`command "c" {@param "k" {@secret = true@}@part "p" {@command = ["x", param.k]@}@}`: "Secret in a visible place",
	} {
		r := commandRepository(strings.ReplaceAll(text, "@", "\n") + "\n")
		all, ds := r.Runnable()
		for _, c := range all.Commands {
			ds = append(ds, c.Errors...)
		}
		if !ds.HasErrors() {
			given := map[string]string{}
			if strings.Contains(text, `"k"`) {
				given["k"] = "hunter2"
			}
			_, ds = r.CallCommand("c", given)
		}
		if got := shown(ds); !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s\n%s\nwant: %s", text, got, want)
		}
	}
}

// TestTypedSecret: the value of a secret parameter is passed only in the environment, and no
// diagnostic repeats it.
func TestTypedSecret(t *testing.T) {
	given := map[string]string{"token": "hunter2"}
	call, ds := commandRepository("").CallAction(compile.Input{Target: "h"}, "login", given, false)
	if ds.HasErrors() || strings.Contains(call.Result.List.String(), "hunter2") ||
		strings.Join(call.Env, " ") != "TOKEN=Bearer hunter2" {
		t.Errorf("%v\n%s%s", call.Env, call.Result.List, shown(ds))
	}
	if want := "EXEC login-1 login none env=NOTE=none\n"; call.Result.List.String() != want {
		t.Errorf("%swant %s", call.Result.List, want)
	}
	for text, want := range map[string]string{
		strings.Replace(secretAction, "[\"login\", param.note]", "[\"login\", param.token]",
			1): "Secret in a visible place",
		strings.Replace(secretAction, "    secret = true\n",
			"    secret = true\n    validation {\n condition = param.token == \"\"\n error_message = \"no ${param.token}\"\n}\n",
			1): "Invalid value",
		strings.Replace(secretAction, "\"Bearer ${param.token}\"", "jsondecode(param.token)",
			1): "",
	} {
		r := compile.Open(repo.MapTree(map[string]string{"fettle.hcl": "target \"h\" {}\n" + text}))
		_, ds := r.CallAction(compile.Input{Target: "h"}, "login", given, false)
		if got := shown(ds); !ds.HasErrors() || !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s\n%s", text, got)
		}
	}
}

// TestCommandsInAllForms are the same in YAML, JSON and programs.
func TestCommandsInAllForms(t *testing.T) {
	want := "say on [h]: map[] [[echo 7]] secret [] env []  0s looks true batch \"1\" max 0\n"
	for name, text := range map[string]string{
		"a.hcl":         "command \"c\" {\n  param \"n\" { type = number }\n  part \"say\" {\n    targets = [\"h\"]\n    command = [\"echo\", param.n]\n    changes = false\n    batch = 1\n  }\n}\n",
		"a.fettle.yaml": "command:\n  c:\n    param: {n: {type: number}}\n    part:\n      say: {targets: [h], command: [echo, \"${param.n}\"], changes: false, batch: 1}\n",
		"a.fettle.json": `{"command": {"c": {"param": {"n": {"type": "number"}}, "part": {"say": {"targets": ["h"], "command": ["echo", "${param.n}"], "changes": false, "batch": 1}}}}}`,
		"a.fettle.star": "def inside():\n    param(\"n\", type = \"number\")\n    part(\"say\", targets = [\"h\"], command = [\"echo\", expr(\"param.n\")], changes = False, batch = 1)\ncommand(\"c\", inside)\n",
	} {
		r := compile.Open(repo.MapTree(map[string]string{"fettle.hcl": "target \"h\" {}\n", name: text}))
		parts, ds := r.CallCommand("c", map[string]string{"n": "7"})
		if got := partsText(parts) + shown(ds); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestPartsHandOn: an action receives the parameters of a command unchanged, for every type.
func TestPartsHandOn(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune("a\"\\${}% \n'é~")))
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(text, 1, 4).Draw(t, "words")
		one, n, yes := text.Draw(t, "one"), rapid.Int32().Draw(t, "n"), rapid.Bool().Draw(t, "yes")
		main := `target "h" {}
action "a" {
  param "words" { type = list(string) }
  param "one" { type = string }
  param "n" { type = number }
  param "yes" { type = bool }
  param "map" { type = map(string) }
  command = concat(["x", param.one, tostring(param.n), tostring(param.yes), param.map["k"]], param.words)
}
command "c" {
  param "words" { type = list(string) }
  param "one" {}
  param "n" { type = number }
  param "yes" { type = bool }
  part "p" {
    targets = ["h"]
    action  = "a"
    params  = { words = param.words, one = param.one, n = param.n, yes = param.yes, map = { k = param.one } }
  }
}
`
		list, _ := json.Marshal(words)
		typed := strings.NewReplacer("${", "$${", "%{", "%%{").Replace(string(list))
		r := compile.Open(repo.MapTree(map[string]string{"fettle.hcl": main}))
		parts, ds := r.CallCommand("c", map[string]string{"words": typed, "one": one, "n": fmt.Sprint(n),
			"yes": fmt.Sprint(yes)})
		if ds.HasErrors() || len(parts) != 1 {
			t.Fatal(shown(ds))
		}
		call, ds := r.CallAction(compile.Input{Target: "h"}, "a", parts[0].Params, false)
		if ds.HasErrors() {
			t.Fatal(shown(ds))
		}
		want := append([]string{"a-1", "x", one, fmt.Sprint(n), fmt.Sprint(yes), one}, words...)
		if got := call.Result.List[0].Args; !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
