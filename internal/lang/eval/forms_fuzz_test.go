package eval_test

import (
	"testing"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
)

// fuzzForm demands that no text of a form breaks the front end, and that every error has a place in
// a file.
func fuzzForm(f *testing.F, file string, seeds []string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, ds := load(map[string]string{file: string(src), "t": "${a}"})
		if !ds.HasErrors() {
			_, ds = query.Targets(p)
		}
		for _, d := range ds {
			if d.Summary == "" || d.Range.File == "" && d.Severity == diag.Error {
				t.Fatalf("a mistake without a place: %v", d)
			}
		}
	})
}

func FuzzYAML(f *testing.F) {
	fuzzForm(f, "fettle.yaml", []string{
		"vars: {a: 1}\nfile: {/a: {content: \"${var.a}\\u00fc\\\n  x\"}}\n",
		"- package: [a, b]\n- block: {b: {when: var.x, file: {/x: {content: |\n      %{ if true }\n      x\n}}}}\n",
		"define:\n  k:\n    main: a\n    variable: {a: {type: string, validation: [{condition: 'true', error_message: x}]}}\n    file: {f: {path: '${var.a}', content: >-\n        it''s\n        folded ${var.b}\n    }}\n",
		"target: {a: {modules: [m], module: {b: {source: m}}, policy: {drift: report}, ssh: {port: 22, host: \"${target.name}.x\", options: {ProxyJump: b}}}}\nssh:\nlocals: {a: [1, {b: ~}]}\n",
		"file: {a: {content: x, after: [package.x, 'immediate(service.y.reload)'], listen: {reload: file.a}}}",
		"rollout: {r: {wave: [{a: {size: 1, labels: {x: [b]}}}, b], max_silent: 2%, on_breach: abort}}\n" +
			"policy: {rollout: r}\n",
		"a: &x {b: *x}\n<<: 1\n? [a]\n: !t x\n--- y",
	})
}

func FuzzJSON(f *testing.F) {
	fuzzForm(f, "fettle.json", []string{
		`{"vars": {"a": 1}, "file": {"/a": {"content": "${var.a}\u00fc\ud83d\ude00 %{ if true }x%{ endif }"}}}`,
		`[{"package": ["a", "b"]}, {"locals": {"a": [1, -2.5e3, null, true]}}]`,
		`{"define": {"k": [{"main": "a"}, {"variable": {"a": {"type": "list(string)", "default": []}}}]}, "k": {"x": {"when": "${1 == 1}"}}}`,
		`{"target": {"a": {"policy": {"drift": "report"}, "ssh": [{"enabled": true}]}}, "ssh": {"host": "${target.labels.x}", "options": {"Tag": 1, "tag": null}}, "service": {"n": {"listen": {"reload": ["file.a"]}}}}`,
	})
}

func FuzzTemplatedYAML(f *testing.F) {
	fuzzForm(f, "fettle.yaml.tmpl", []string{
		"file:\n%{ for n in [\"a\", \"b\"] ~}\n  /${n}: {content: \"$${var.x} %%{\"}\n%{ endfor ~}\n",
		"%{ if 1 == 1 }a%{ else }b%{ endif }: ${jsonencode({ a = [1] })}\n",
		"%{ for k, v in { a = 1 } ~}\n  ${k}: ${v}\n  %{~ endfor }\n$$${x}",
	})
}

func FuzzStarlark(f *testing.F) {
	fuzzForm(f, "fettle.star", []string{
		"x = package(\"nginx\")\nfile(\"/a\", content = template(\"${var.x}\"), after = [x, \"package.y\"], notify = x.reload)\n",
		"def f():\n  variable(\"a\", type = \"string\", validation = dict(condition = \"true\", error_message = \"x\"))\n  file(\"f\", path = expr(\"var.a\"))\ndefine(\"k\", f, main = \"a\")\nk(\"x\", **{\"b\": 1.5})\n",
		"[state(\"file\", \"/%d\" % i, content = str(i)) for i in range(3) if i > 1]\nvars(a = None)\nlocals(b = {\"c\": (1, True)})\n",
		"load(\"t.star\", \"x\")\nfail(\"x\")\n",
	})
}
