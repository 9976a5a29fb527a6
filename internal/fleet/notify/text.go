package notify

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// maxRendered limits the output of a template, in bytes.
const maxRendered = 64 << 10

// standard is the template of rules without one. Its first line is the subject.
const standard = `{{.Fleet}}: {{.Summary}}

{{range .Items}}{{if .Resolved}}resolved: {{end}}{{.Kind}}{{if .Name}}  {{.Name}}{{end}}{{if .Module}}  {{.Module}}{{end}}{{if .Text}}
    {{.Text}}{{end}}
{{end}}{{if .More}}and {{.More}} more
{{end}}`

// noticeText is the data of templates. It has no methods.
type noticeText struct {
	Fleet, Rule, ID, Summary, At string
	Items                        []itemText
	More                         int
}

type itemText struct {
	Kind, Target, Name, Module, Text, At string
	Resolved                             bool
}

// functions returns the functions of templates. Standard functions that could create long texts, or
// call other code, are replaced by functions that return an error.
func functions() template.FuncMap {
	none := func(name string) func(...any) (string, error) {
		return func(...any) (string, error) { return "", fmt.Errorf("templates of notices have no function %s", name) }
	}
	return template.FuncMap{
		"upper": strings.ToUpper, "lower": strings.ToLower, "contains": strings.Contains,
		"default": func(otherwise, s string) string { return cmp.Or(s, otherwise) },
		"printf":  none("printf"), "print": none("print"), "println": none("println"), "call": none("call"),
		"html": none("html"), "js": none("js"), "urlquery": none("urlquery"),
	}
}

// limited returns an error when a template writes too much.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxRendered {
		return 0, errors.New("the output is longer than 64 KiB")
	}
	return l.Builder.Write(p)
}

var _ io.Writer = (*limited)(nil)

func parsed(r document.Notification) (*template.Template, error) {
	t, err := template.New("notice").Funcs(functions()).Option("missingkey=error").Parse(cmp.Or(r.Template, standard))
	if err != nil {
		return nil, fmt.Errorf("cannot read the template: %w", err)
	}
	return t, tame(t)
}

// render returns the text of a notice.
func render(r document.Notification, n noticeText) (string, error) {
	t, err := parsed(r)
	if err != nil {
		return "", err
	}
	var out limited
	if err := t.Execute(&out, n); err != nil {
		return "", fmt.Errorf("cannot fill the template: %w", err)
	}
	return out.String(), nil
}

// Compose creates the message of a notice. If the template of the rule fails, it uses the standard
// template and appends the error.
func Compose(fleet string, r document.Notification, n Notice) document.Notice {
	out := document.Notice{Format: document.NoticeFormat, ID: n.ID, Fleet: fleet, Rule: r.Name, At: n.At,
		Items: []document.NoticeItem{}, More: n.More}
	seen := noticeText{Fleet: fleet, Rule: r.Name, ID: n.ID, Summary: summary(n), At: moment(n.At), More: n.More}
	for _, i := range n.Items {
		out.Items = append(out.Items, i.NoticeItem)
		seen.Items = append(seen.Items, itemText{i.Kind, string(i.Target), i.Name, i.Module, i.Text, moment(i.At),
			i.Resolved})
	}
	text, err := render(r, seen)
	if err != nil {
		r.Template = ""
		text, _ = render(r, seen) // the standard template cannot fail
		text += "\n(" + err.Error() + ")\n"
	}
	subject, rest, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	out.Subject, out.Text = strings.TrimSpace(subject), strings.TrimLeft(rest, "\n")
	return out
}

func moment(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

// summary counts the items by kind, in the order of their first occurrence.
func summary(n Notice) string {
	var order []string
	counts, over := map[string]int{}, 0
	for _, i := range n.Items {
		if i.Resolved {
			over++
			continue
		}
		if counts[i.Kind] == 0 {
			order = append(order, i.Kind)
		}
		counts[i.Kind]++
	}
	var parts []string
	for _, k := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
	}
	if over > 0 {
		parts = append(parts, fmt.Sprintf("%d resolved", over))
	}
	if n.More > 0 {
		parts = append(parts, fmt.Sprintf("%d more", n.More))
	}
	return strings.Join(parts, ", ")
}

// Example returns a notice for a test of a rule.
func Example(r document.Notification, id string, now int64) Notice {
	return Notice{ID: id, At: now, Items: []Item{{"test",
		document.NoticeItem{Kind: "test", Name: "web1", Module: "modules/web",
			Text: "This is a test of the rule " + r.Name + ".", At: now}}}}
}

// example returns data with which Check tries a template.
func example(r document.Notification) noticeText {
	return noticeText{Fleet: "acme", Rule: r.Name, ID: "0", Summary: "1 failed", At: moment(0), More: 1, Items: []itemText{
		{Kind: "failed", Target: "a", Name: "web1", Module: "modules/web", Text: "cannot", At: moment(0)},
		{Kind: "failed", Name: "web2", Resolved: true, At: moment(0)},
	}}
}
