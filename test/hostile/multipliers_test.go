package hostile

import (
	"fmt"
	"strings"
)

// anchors double, each the one before.
func anchors(n int) string {
	var b strings.Builder
	prev := "a"
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		fmt.Fprintf(&b, "%s: &%s [*%s, *%s, *%s, *%s]\n", name, name, prev, prev, prev, prev)
		prev = name
	}
	return b.String()
}

// multipliers are few words that ask for much.
func multipliers() []bad {
	var all []bad
	add := func(name, text string, may bool) {
		all = append(all, bad{name, func() map[string]string {
			return map[string]string{"fettle.hcl": "target \"a\" {}\n" + text,
				"t": `${templatefile("t", {})}${templatefile("t", {})}`, "u": strings.Repeat("u", 1<<20-1),
				"yaml": "a: &a [x]\n" + anchors(40)}
		}, may})
	}
	for _, f := range []string{"[X, X]", "concat(X, X)", "{ l = X, r = X }", "merge({ a = X }, { b = X })",
		"setproduct(X, X)", "flatten([X, X])", "[for a in X : X]", "{ for i, a in X : i => X }", "tolist([X, X])",
		"[X, X][*]", "zipmap([\"a\", \"b\"], [X, X])", "[jsonencode(X), jsonencode(X)]", "slice(concat(X, X, X), 0, 2)",
		"reverse(concat(X, X))", "chunklist(concat(X, X), 1)", "[for a in concat(X, X) : [a, a]]"} {
		for _, n := range []int{26, 40, 200} {
			text := "locals {\n  a0 = [\"x\", \"y\"]\n"
			for i := range n {
				text += fmt.Sprintf("  a%d = %s\n", i+1, strings.ReplaceAll(f, "X", fmt.Sprintf("local.a%d", i)))
			}
			add(fmt.Sprintf("%s %d times", f, n),
				text+fmt.Sprintf("}\nfile \"/etc/x\" { content = sha256(jsonencode(local.a%d)) }\n", n), true)
		}
	}
	for _, f := range []string{`"${X}${X}"`, `join(X, [X, X, X])`, `replace(X, "x", X)`, `replace(X, "", X)`,
		`format("%s%s", X, X)`, `jsonencode([X, X])`, `<<A` + "\n${X}${X}\nA\n", `base64encode("${X}${X}")`,
		`upper("${X}${X}")`, `strrev("${X}${X}")`, `urlencode("${X}%${X}")`, `indent(900, "${X}\n${X}")`, `repeat(X, 1000)`,
		`title("${X}${X}")`} {
		text := "locals {\n  a0 = \"xxxxxxxx\"\n"
		for i := range 40 {
			text += fmt.Sprintf("  a%d = %s\n", i+1, strings.ReplaceAll(f, "X", fmt.Sprintf("local.a%d", i)))
		}
		add(f+" 40 times", text+"}\nfile \"/etc/x\" { content = local.a40 }\n", true)
	}
	for _, e := range []string{
		`range(1000000000)`, `range(0, 1e18, 1)`, `range(1e308)`, `range(0, 1, 1e-300)`, `range(-1e9, 1e9)`,
		`[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : "${a}${b}${c}"]]]`,
		`{ for a in range(1000) : a => { for b in range(1000) : b => { for c in range(1000) : c => 1 } } }`,
		`setproduct(range(1000), range(1000), range(1000))`, `repeat("x", 1000000000)`, `repeat("x", 1e999)`,
		`repeat("", 1e999999)`, `format("%0999999999999s", "x")`, `format("%999999999d", 1)`, `format("%.999999999f", 1)`,
		`format("%[999999999]s", "x")`,
		`1e999999`, `-1e999999`, `1e999999999999`, `1e-999999999`, `1e999999 * 1e999999`, `1e999999 % 7`,
		`pow(10, 999999999)`, `pow(1e999, 1000)`, `pow(0.5, -1e9)`, `log(0, 0)`,
		`parseint("` + strings.Repeat("z", 100_000) + `", 36)`, `parseint("1", 1e9)`, `tonumber("1e999999999")`,
		`tonumber("` + strings.Repeat("9", 1_000_000) + `")`, strings.Repeat("9", 1_000_000),
		"0." + strings.Repeat("9", 1_000_000), `1 / 0`, `0 / 0`, `7 % 0`, `floor(1e999999)`, `signum(-1e999999)`,
		`ceil(1e-999999)`,
		`"${1e999999}"`, `tostring(1e99999999)`, `jsonencode(1e999999)`, `jsondecode("1e999999999")`,
		`jsondecode("` + strings.Repeat("9", 900_000) + `")`, `yamldecode("1e999999999")`, `yamldecode(file("yaml"))`,
		`max(range(1000000)...)`, `concat([for i in range(100000) : range(1000)]...)`,
		`regexall("(x*)*", repeat("x", 10000000))`, `regexall("", repeat("x", 16000000))`,
		`regex("((((a{1,100}){1,100}){1,100}){1,100})", "a")`, `regex("(?:a?){1000}a{1000}", repeat("a", 1000))`,
		`regex("` + strings.Repeat("(", 100_000) + strings.Repeat(")", 100_000) + `", "x")`, `regex("[", "x")`,
		`regex("\\p{Nope}", "x")`, `regex("` + strings.Repeat("(a|b)", 100_000) + `", "x")`,
		`replace("x", "/(.*)*/", repeat("$1", 1000000))`, `regex("(?P<n>a)(?P<n>b)", "ab")`,
		`split("", repeat("x", 16000000))`, `[for x in split("", repeat("x", 16000000)) : x]`, `templatefile("t", {})`,
		`file("u")`, `join("", [for i in range(1000) : file("u")])`, `[for i in range(100000) : file("u")]`,
		`{ for i in range(1000000) : "k${i}" => i }`, `toset([for i in range(3000000) : "k${i}"])`,
		`sort([for i in range(3000000) : "k${i}"])`, `distinct([for i in range(300000) : i])`,
		`flatten([for i in range(3000) : range(3000)])`, `formatlist("%s%s", range(100000), "x")`,
		`transpose({ for i in range(2000) : i => [for j in range(2000) : "x${j}"] })`,
		`cidrsubnet("10.0.0.0/8", 1000000, 1)`, `cidrhost("::/0", 1e38)`, `cidrsubnets("::/0", range(100000)...)`,
		`base64decode(repeat("A", 16000000))`, `sha512(repeat("x", 16000000))`, `indent(1e9, "a\nb")`,
		`substr("x", -1e18, 1e18)`, `element([1], 1e300)`, `slice([1], -1, 1e18)`, `chunklist(range(1000000), 1)`,
		`[1][1e300]`, `[1][-1]`, `"x"[0]`, `null.x`, `timeadd("x", "1e9h")`, `strcontains(null, "x")`, `each.key`, `self`,
		`path.module`, `terraform.workspace`,
	} {
		add("content from "+clip(e), "file \"/etc/x\" { content = jsonencode("+e+") }\n", true)
		add("names from "+clip(e), "file \"x\" {\n  for_each = toset([for x in flatten(["+e+
			"]) : \"/etc/${x}\"])\n  path = each.key\n  content = \"\"\n}\n", true)
	}
	return append(all, crossed()...)
}

func clip(s string) string { return s[:min(len(s), 60)] }

// crossed are states that refer, repeat and multiply.
func crossed() []bad {
	r := strings.Repeat
	var out []bad
	add := func(name, text string) {
		out = append(out, bad{name, single("target \"a\" {}\n" + text), false})
	}
	add("a circle of locals", "locals {\n  a = local.b\n  b = local.a\n}\nfile \"/etc/x\" { content = local.a }\n")
	add("a circle of states",
		"file \"/etc/x\" {\n  content = \"\"\n  after = [file[\"/etc/y\"]]\n}\nfile \"/etc/y\" {\n  content = \"\"\n  after = [file[\"/etc/x\"]]\n}\n")
	add("a kind of itself", "define \"k\" {\n  variable \"a\" {}\n  main = \"a\"\n  k \"x\" {}\n}\nk \"y\" {}\n")
	add("kinds of each other",
		"define \"k\" {\n  variable \"a\" {}\n  main = \"a\"\n  l \"x\" {}\n}\ndefine \"l\" {\n  variable \"a\" {}\n  main = \"a\"\n  k \"x\" {}\n}\nk \"y\" {}\n")
	add("a million states",
		"file \"x\" {\n  for_each = toset(flatten([for i in range(1000) : [for j in range(1000) : \"${i}-${j}\"]]))\n  path = \"/etc/${each.key}\"\n  content = \"\"\n}\n")
	add("kinds that double", doublingKinds(30))
	add("one name twice", r("file \"/etc/x\" { content = \"\" }\n", 2))
	add("one variable twice", r("variable \"v\" {}\n", 2))
	add("one target twice", "target \"a\" {}\n")
	add("one attribute twice", "file \"/etc/x\" {\n  content = \"\"\n  content = \"\"\n}\n")
	add("one local twice", "locals { a = 1 }\nlocals { a = 2 }\n")
	add("one define twice", r("define \"k\" {}\n", 2))
	add("one block twice", r("block \"b\" {}\n", 2)+"file \"/etc/x\" {}")
	add("a path of two files",
		"file \"a\" {\n  path = \"/etc/x\"\n  content = \"1\"\n}\nfile \"b\" {\n  path = \"/etc/x\"\n  content = \"2\"\n}\n")
	add("an attribute of nothing", "file \"/etc/x\" { contents = \"\" }\n")
	add("a kind of nothing", "fil \"/etc/x\" { content = \"\" }\n")
	add("a function of nothing", "file \"/etc/x\" { content = env(\"HOME\") }\n")
	add("a block inside a file", "file \"/etc/x\" {\n  content {\n  }\n}\n")
	for _, p := range []string{"", "etc", "/etc/../x", "/etc//x", "/etc/./x", "/", "/proc/1/mem", "/sys/x", "/dev/sda",
		"/var/lib/fettle/x", "/run/fettle/x", "/etc/x\\u0000", "/" + r("x/", 3000)} {
		add("the path "+clip(p), "file \"f\" {\n  path = \""+p+"\"\n  content = \"\"\n}\n")
	}
	for _, a := range []string{"mode = \"99999\"", "mode = \"0o7\"", "mode = 1e999999", "mode = -1", "mode = \"a\"",
		"owner = \"\"", "owner = \"a\\nb\"", "owner = [1]", "owner = \"-1\"", "group = null", "notify = [file.x]",
		"validate = \"\\u0000\"", "ensure = \"gone\""} {
		add("the attribute "+a, "file \"/etc/x\" {\n  content = \"\"\n  "+a+"\n  nope = 1\n}\n")
	}
	return out
}

// doublingKinds call two of the kind before.
func doublingKinds(n int) string {
	var b strings.Builder
	b.WriteString("define \"k0\" {\n  variable \"n\" {}\n  main = \"n\"\n  file \"f\" {\n    path = \"/etc/${var.n}\"\n    content = \"\"\n  }\n}\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "define \"k%d\" {\n  variable \"n\" {}\n  main = \"n\"\n  k%d \"l\" { n = \"${var.n}l\" }\n  k%d \"r\" { n = \"${var.n}r\" }\n}\n", i, i-1, i-1)
	}
	fmt.Fprintf(&b, "k%d \"x\" {}\n", n)
	return b.String()
}
