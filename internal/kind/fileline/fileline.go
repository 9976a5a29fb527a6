// Package fileline is the kind file_line: one line of a file that others write
// too.
//
//	file_line "sshd-root" {
//	  path  = "/etc/ssh/sshd_config"
//	  match = "^#?PermitRootLogin\\s"
//	  line  = "PermitRootLogin no"
//	}
//	file_line "swappiness" {
//	  path  = "/etc/app.conf"
//	  key   = "swappiness"
//	  value = "10"
//	}
package fileline

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	return kind.Kind{
		Name: "file_line", Main: "path", Steps: steps,
		Doc: "One line of a file with other content: found by an expression or a key, replaced in place, or added at the " +
			"end.",
		Attrs: []kind.Attr{
			kind.PathAttr("path", "the file; default: the label"),
			{Name: "line", Type: cty.String,
				Doc: "the complete line, without its line break; a line with a secret needs match", Check: checkLine, Secret: true},
			{Name: "match", Type: cty.String,
				Doc: "regular expression (RE2) that finds the line to replace; the last match counts", Check: checkPattern},
			{Name: "key", Type: cty.String, Doc: "key of a line KEY=VALUE, instead of line and match", Check: checkLine},
			{Name: "value", Type: cty.String, Doc: "value of the key", Check: checkLine, Secret: true},
			{Name: "separator", Type: cty.String, Doc: "text between key and value; default: =", Check: checkLine},
			{Name: "create", Type: cty.Bool, Doc: "create a missing file, for root with mode 0644"},
			kind.EnsureAttr(),
		},
	}
}

func checkLine(v cty.Value) error {
	if strings.ContainsAny(v.AsString(), "\n\r\x00") {
		return fmt.Errorf("one line cannot contain a line break, and this is %q; use file_block for several lines",
			v.AsString())
	}
	return nil
}

func checkPattern(v cty.Value) error {
	if _, err := regexp.Compile(v.AsString()); err != nil {
		return fmt.Errorf("%q is not a regular expression: %v", v.AsString(),
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return nil
}

func steps(s kind.State) (kind.Output, diag.List) {
	if ds := configErrors(s); ds.HasErrors() {
		return kind.Output{}, ds
	}
	if s.Given("key") {
		return s.Edit("key", "value", "separator")
	}
	return s.Edit("line", "match")
}

func configErrors(s kind.State) diag.List {
	line, key := s.Given("line") || s.Given("match"), s.Given("key")
	switch {
	case line && key:
		return s.Errorf("key", "Line given twice", "Set line and match, or key and value, but not both.")
	case !line && !key:
		return diag.List{diag.Errorf(s.Range, "Which line?",
			"Set line, with match if it replaces another line, or key and value.")}
	case key && s.Str("key") == "":
		return s.Errorf("key", "Empty key", "The key is the text before the separator.")
	case s.Given("line") && !s.Given("match") && s.Attrs["line"].IsMarked():
		return s.Errorf("line", "Secret line without match",
			"The next value of the secret must replace this line. Set match, an expression that finds the line, or key and "+
				"value.")
	case !key && (s.Given("value") || s.Given("separator")):
		return diag.List{diag.Errorf(s.Range, "Value without a key",
			"value and separator have an effect only with key. Set key.")}
	case s.Absent():
		return nil
	case key && !s.Given("value"):
		return diag.List{diag.Errorf(s.Range, "Key without a value",
			"Set value. To remove the line, set ensure = \"absent\".")}
	case !key && !s.Given("line"):
		return s.Errorf("match", "Match without a line",
			"Set line, the new line. To remove the matching line, set ensure = \"absent\".")
	case !key && s.Given("match") && !s.Attrs["line"].IsMarked() && !matches(s.Str("match"), s.Str("line")):
		return s.Errorf("match", "Match does not find its own line",
			"The line does not match this expression, so after its next change the old line would stay in addition to the "+
				"new line. Write an expression that matches both the line to replace and the new line.")
	}
	return nil
}

// matches tells whether an expression finds a line. The check of the attribute
// rejects an expression that does not compile.
func matches(expression, line string) bool {
	re, err := regexp.Compile(expression)
	return err != nil || re.MatchString(line)
}
