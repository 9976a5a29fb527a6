package compile_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

const actionModule = `variable "unit" { default = "nginx" }
action "drain" {
  description = "takes it out"
  param "seconds" {
    type    = number
    default = 30
    validation {
      condition     = param.seconds < 100
      error_message = "At most 99 seconds."
    }
  }
  param "why" { type = string }
  command = [["drain", var.unit, "${param.seconds}", target.name], ["say", param.why]]
  dry_run = ["drain", "--check", "${param.seconds}"]
  timeout = "90s"
  env     = { MODE = "fast" }
}
action "look" {
  changes = false
  command = "uptime -p"
}
`

func actionRepository(module string) *compile.Repository {
	return compile.Open(repo.MapTree(map[string]string{
		"fettle.hcl":             "target \"h\" { modules = [\"web\", \"db\"] }\ntarget \"bare\" {}\n",
		"modules/web/module.hcl": module,
		"modules/db/module.hcl":  "action \"look\" { command = [\"psql\"] }\n",
	}))
}

// TestRunnable: the list has each command and action, its directory and its targets.
func TestRunnable(t *testing.T) {
	all, ds := actionRepository(actionModule).Runnable()
	if ds.HasErrors() || len(all.Actions) != 3 {
		t.Fatalf("%+v %s", all, shown(ds))
	}
	drain := all.Actions[1]
	if drain.ID() != "web.drain" || !drain.Changes || !drain.DryRun || len(drain.Params) != 2 ||
		drain.Params[0].Default != "30" || !drain.Params[1].Required {
		t.Errorf("%+v", drain)
	}
	if all.Actions[0].ID() != "db.look" || drain.Directory != "modules/web" || len(drain.Targets) != 1 ||
		drain.Targets[0] != "h" {
		t.Errorf("%+v", all.Actions)
	}
}

// TestCallAction gives commands, or says what is wrong.
func TestCallAction(t *testing.T) {
	for name, c := range map[string]struct {
		target, action, params string
		dry                    bool
		want                   string // the list, or part of an error
	}{
		"called": {"h", "drain", "why=a b", false,
			"EXEC drain-1 drain nginx 30 h env=MODE=fast timeout=1m30s\nEXEC drain-2 say \"a b\" env=MODE=fast timeout=1m30s\n"},
		"given": {"h", "web.drain", "why=x,seconds=7", true,
			"EXEC drain-1 drain --check 7 env=MODE=fast timeout=1m30s\n"},
		"text":      {"h", "web.look", "", false, "EXEC look-1 uptime -p\n"},
		"no dry":    {"h", "db.look", "", true, "EXEC look-1 psql\n"},
		"missing":   {"h", "drain", "", false, `The parameter "why" of the action "drain" has no default`},
		"refused":   {"h", "drain", "why=x,seconds=100", false, "At most 99 seconds."},
		"type":      {"h", "drain", "why=x,seconds=many", false, `"seconds" of the action "drain" must be a number`},
		"unknown":   {"h", "drain", "why=x,second=1", false, `no parameter "second". Did you mean "seconds"?`},
		"no action": {"h", "drian", "", false, `The target h has no action "drian". Did you mean "drain"?`},
		"elsewhere": {"bare", "drain", "", false, `The target bare has no action "drain"`},
		"two":       {"h", "look", "", false, "Name one of: db.look, web.look"},
	} {
		params := map[string]string{}
		for _, p := range strings.Split(c.params, ",") {
			if k, v, ok := strings.Cut(p, "="); ok {
				params[k] = v
			}
		}
		call, ds := actionRepository(actionModule).CallAction(compile.Input{Target: c.target}, c.action, params, c.dry)
		if got := call.Result.List.String() + shown(ds); got != c.want &&
			(!ds.HasErrors() || !strings.Contains(got, c.want)) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
}

// TestBadActions: errors in a declaration are reported, most of them before the action is called.
func TestBadActions(t *testing.T) {
	for text, want := range map[string]string{
		`action "a" {}`:                    "Action without a command",
		`action "a b" {@command = ["x"]@}`: "Bad name for an action",
		`action "a" {@command = ["x"]@}@action "a" {@command = ["x"]@}`:            "Action declared twice",
		`action "a" {@comand = ["x"]@}`:                                            `Did you mean "command"?`,
		`action "a" {@command = ["x"]@changes = "no"@}`:                            "True or false expected",
		`action "a" {@command = ["x"]@parameter "p" {}@}`:                          `An action has no block "parameter"`,
		`define "k" {@action "a" {@command = ["x"]@}@}`:                            "Action inside a define",
		`block "b" {@action "a" {@command = ["x"]@}@}`:                             "A block can contain only states",
		`action "a" {@command = [["x"], "y"]@}`:                                    "This list contains both",
		`action "a" {@command = ["x"]@output = "jsn"@}`:                            `Did you mean "json"?`,
		`action "a" {@command = ["x"]@param "p" {@file = true@}@}`:                 `no attribute "file"`,
		`action "a" {@command = ["x"]@param "p" {@secret = "yes"@}@}`:              "True or false expected",
		`action "a" {@command = ["x"]@param "p" {@type = number@secret = true@}@}`: "A secret parameter must be a string",
		`command "a" {@part "p" {@command = ["x"]@}@}`:                             "Command inside a module",
		`action "a" {@command = []@}`:                                              "The command is empty",
		`action "a" {@command = ["x", param.y]@}`:                                  `The action a has no parameter "y"`,
		`action "a" {@command = true@}`:                                            "command is a list of words",
		`action "a" {@command = ["x"]@timeout = "long"@}`:                          "timeout",
		`action "a" {@command = ["x"]@cwd = "srv"@}`:                               "cwd",
		`file "/x" { content = param.y }`:                                          "param exists only inside actions and commands",
	} {
		text = strings.ReplaceAll(text, "@", "\n")
		r := actionRepository(text + "\n")
		_, ds := r.Compile(compile.Input{Target: "h"})
		_, more := r.CallAction(compile.Input{Target: "h"}, "a", nil, false)
		if got := shown(ds) + shown(more); !strings.Contains(got, want) {
			t.Errorf("%s\n%s\nwant: %s", text, got, want)
		}
	}
}

// TestActionsInAllForms are the same in YAML, JSON and programs.
func TestActionsInAllForms(t *testing.T) {
	want := "EXEC say-1 echo hello 7\n"
	for name, text := range map[string]string{
		"module.hcl":    "action \"say\" {\n  param \"n\" { type = number }\n  command = [\"echo\", \"hello\", \"${param.n}\"]\n}\n",
		"m.fettle.yaml": "action:\n  say:\n    param: {n: {type: number}}\n    command: [echo, hello, \"${param.n}\"]\n",
		"m.fettle.json": `{"action": {"say": {"param": {"n": {"type": "number"}}, "command": ["echo", "hello", "${param.n}"]}}}`,
		"m.fettle.star": "def params():\n    param(\"n\", type = \"number\")\naction(\"say\", params, command = [\"echo\", \"hello\", expr(\"param.n\")])\n",
	} {
		r := compile.Open(repo.MapTree(map[string]string{"fettle.hcl": "target \"h\" { modules = [\"m\"] }\n",
			"modules/m/" + name: text}))
		call, ds := r.CallAction(compile.Input{Target: "h"}, "say", map[string]string{"n": "7"}, false)
		if got := call.Result.List.String() + shown(ds); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestActionNames: unknown names are reported when the repository is compiled, before the action is
// called.
func TestActionNames(t *testing.T) {
	module := strings.Replace(actionModule, `"--check", "${param.seconds}"`,
		`"--check", "${param.secnds}", var.unti, local.x, each.key`, 1)
	_, ds := actionRepository(module).Compile(compile.Input{Target: "h"})
	text := shown(ds)
	for _, want := range []string{`The action drain has no parameter "secnds". Did you mean "seconds"?`,
		`There is no variable "unti" here. Did you mean "unit"?`, `There is no local "x" here.`, "No for_each here",
		"modules/web/module.hcl:14:37"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if _, ds := actionRepository(actionModule).Compile(compile.Input{Target: "h"}); ds.HasErrors() {
		t.Errorf("the module without mistakes: %s", shown(ds))
	}
}
