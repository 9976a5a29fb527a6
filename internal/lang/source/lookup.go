package source

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Snapshot is the repository path of the file that holds the answer.
func (l Lookup) Snapshot() string { return path.Join(l.Directory, "lookups", l.Name+".json") }

// Source returns the query in one line.
func (l Lookup) Source() string {
	if l.URL != "" {
		return l.Format + " " + l.URL
	}
	words, _ := json.Marshal(l.Command) // of texts
	return l.Format + " " + string(words)
}

// lookup reads a lookup block. Its query is a constant text, because it is evaluated before any
// target is known.
func (ps *parser) lookup(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"url", "command", "format", "max_age", "timeout", "description"}, nil)
	known := ps.body.Directory.Lookups
	switch {
	case ps.in != nil:
		ps.Errorf(r, "Lookup inside a define",
			"Declare the lookup in the module, outside of the define block. The kind can use it there.")
		return
	case !hclsyntax.ValidIdentifier(name):
		ps.Errorf(r, "Bad name for a lookup",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case known[name] != nil:
		ps.Errorf(r, "Lookup declared twice",
			"The lookup %q is already declared at %s. Rename or remove one of the two.", name, known[name].Range)
		return
	}
	at := b.Body.Attributes
	l := &CachedLookup{Lookup: Lookup{Name: name, Directory: ps.body.Directory.Path, Format: "json", Range: r}}
	if (at["url"] == nil) == (at["command"] == nil) {
		ps.Errorf(r, "Lookup without a source", `Set either url = "https://…" or command = ["…"].`)
		return
	}
	if a := at["url"]; a != nil {
		l.URL = ps.text(a.Expr, "url")
		if err := CheckURL(l.URL); err != nil && l.URL != "" {
			ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad URL", "%s", syntax.Sentence(err))
		}
	}
	if a := at["command"]; a != nil {
		l.Command = ps.words(a)
	}
	if a := at["format"]; a != nil {
		if l.Format = ps.text(a.Expr, "format"); l.Format != "json" && l.Format != "yaml" && l.Format != "text" {
			ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown format", "format must be json, yaml or text.")
		}
	}
	l.MaxAge, l.Timeout = ps.duration(at["max_age"]), ps.duration(at["timeout"])
	known[name] = l
}

// words returns a list of constant strings.
func (ps *parser) words(a *hclsyntax.Attribute) []string {
	exprs, hds := hcl.ExprList(a.Expr)
	ps.Add(syntax.FromHCL(hds)...)
	var out []string
	for _, e := range exprs {
		out = append(out, ps.text(e.(hclsyntax.Expression), a.Name))
	}
	if len(out) == 0 || out[0] == "" {
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Empty command",
			`The command is empty. Write the program and its arguments: ["getent", "passwd"].`)
	}
	return out
}

func (ps *parser) duration(a *hclsyntax.Attribute) time.Duration {
	if a == nil {
		return 0
	}
	text := ps.text(a.Expr, a.Name)
	d, err := duration.Parse(text)
	switch {
	case err != nil:
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s: %s.", a.Name, err)
	case d <= 0:
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "The attribute %s must be longer than 0s.", a.Name)
	}
	return d
}

// CheckURL refuses URLs that a lookup must not use: schemes other than http and https, and
// passwords, which every reader of the repository could read.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the URL %q: write it like https://example.org/users.json", text)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return fmt.Errorf("cannot query %q: a URL must begin with https:// or http:// and a host", text)
	case u.User != nil:
		return fmt.Errorf(
			"cannot query %q: it contains a name or password, which must not be stored in the repository; "+
				"use a command that reads the password elsewhere", u.Redacted())
	}
	return nil
}
