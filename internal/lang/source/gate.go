package source

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// gateTypes are the blocks of gates in a wave.
func gateTypes() []string { return []string{"approval", "compare", "metric", "webhook"} }

// gateBlock reads one gate of a wave.
type gateBlock struct {
	rolloutBlock
	wave *Wave
}

// read adds the gate to the wave.
func (x gateBlock) read(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	x.only(b, gateAttributes(b.Type), nil)
	if slices.ContainsFunc(x.wave.Gates, func(g Gate) bool { return g.Name == name }) {
		x.Errorf(r, "Gate declared twice", "The wave %q has already a gate %q. Rename or remove one of the two.",
			x.wave.Name, name)
		return
	}
	at := b.Body.Attributes
	g := Gate{Name: name, Type: b.Type, DryRun: x.boolOf(at, "dry_run", false)}
	if at["timeout"] != nil {
		g.Timeout = x.seconds(at["timeout"], "", true)
	}
	if b.Type == "approval" {
		x.approval(at, &g)
	} else {
		x.asked(at, &g)
	}
	if b.Type == "compare" && !x.compare(at, &g, r) {
		return
	}
	if err := g.Valid(); err != nil {
		x.Errorf(r, "Incomplete gate", "The %s %q %s.", b.Type, name, err)
	}
	x.wave.Gates = append(x.wave.Gates, g)
}

func gateAttributes(block string) []string {
	asked := []string{"url", "initial_delay", "interval", "failure_limit", "error_limit", "timeout", "dry_run",
		"description"}
	switch block {
	case "approval":
		return []string{"need", "users", "groups", "not_author", "expires", "timeout", "dry_run", "description"}
	case "metric":
		return append(asked, "query", "token", "min", "max", "count")
	case "compare":
		return append(asked, "query", "token", "count", "label", "worse", "min_sample", "max_ratio", "margin")
	}
	return append(asked, "sign")
}

func (x gateBlock) approval(at hclsyntax.Attributes, g *Gate) {
	g.Need = x.number(at["need"], 1, 1)
	g.NotAuthor = x.boolOf(at, "not_author", false)
	g.Expires = x.seconds(at["expires"], "24h", true)
	g.Users, g.Groups = x.names(at["users"]), x.names(at["groups"])
	if a := at["users"]; a != nil && len(g.Groups) == 0 && len(g.Users) > 0 && g.Need > len(g.Users) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Too few users", "%d users must approve, and users names %d.", g.Need,
			len(g.Users))
	}
}

// names returns a list of different names.
func (x gateBlock) names(a *hclsyntax.Attribute) (out []string) {
	if a == nil {
		return nil
	}
	v, hds := a.Expr.Value(x.prog.Pure)
	x.Add(syntax.FromHCL(hds)...)
	list, err := convert.Convert(v, cty.List(cty.String))
	if hds.HasErrors() {
		return nil
	}
	if err != nil || list.IsNull() || !list.IsWhollyKnown() || list.LengthInt() == 0 {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Wrong type", "%s must be a list of names, such as [\"ann\", \"bob\"].",
			a.Name)
		return nil
	}
	for _, name := range list.AsValueSlice() {
		if name.IsNull() || name.AsString() == "" || slices.Contains(out, name.AsString()) {
			x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad list of "+a.Name, "%s must contain each name once.", a.Name)
			return nil
		}
		out = append(out, name.AsString())
	}
	return out
}

func (x gateBlock) asked(at hclsyntax.Attributes, g *Gate) {
	interval := "1m"
	if g.Type == "webhook" {
		interval = "30s"
	}
	g.URL, g.Query, g.Sign = x.textOf(at["url"]), x.textOf(at["query"]), x.textOf(at["sign"])
	g.Token = x.textOf(at["token"])
	g.Min, g.Max = x.float(at["min"]), x.float(at["max"])
	g.InitialDelay, g.Interval = x.seconds(at["initial_delay"], "0s", false), x.seconds(at["interval"], interval, true)
	g.Count = x.number(at["count"], 1, 1)
	g.FailureLimit, g.ErrorLimit = x.number(at["failure_limit"], 0, 0), x.number(at["error_limit"], 4, 0)
}

func (x gateBlock) textOf(a *hclsyntax.Attribute) string {
	if a == nil {
		return ""
	}
	text, _ := x.scalar(a, "a text in quotes")
	return text
}

// number returns a whole number that is at least least.
func (x gateBlock) number(a *hclsyntax.Attribute, absent, least int) int {
	if a == nil {
		return absent
	}
	text, ok := x.scalar(a, "a whole number")
	n, err := strconv.Atoi(text)
	if ok && (err != nil || n < least || n > 1000) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number", "%s must be a whole number from %d to 1000, and this is %q.",
			a.Name, least, text)
	}
	return max(n, least)
}

func (x gateBlock) float(a *hclsyntax.Attribute) *float64 {
	if a == nil {
		return nil
	}
	text, ok := x.scalar(a, "a number")
	f, err := strconv.ParseFloat(text, 64)
	if ok && (err != nil || f-f != 0) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number", "%s must be a number, and this is %q.", a.Name, text)
	}
	return &f
}

// Valid reports what a gate lacks.
func (g Gate) Valid() error {
	u, err := url.Parse(g.URL)
	switch {
	case g.Timeout < 0:
		return errors.New("has a limit or time below its minimum")
	case g.Name == "" || !slices.Contains(gateTypes(), g.Type):
		return errors.New("has no type")
	case g.Type == "approval" && g.Need < 1:
		return errors.New("needs no approval")
	case g.Type == "approval":
		return nil
	case g.URL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil):
		return errors.New("must have a url such as https://HOST/PATH, without a password")
	case g.asksPrometheus() && (g.URL == "" || g.Query == ""):
		return errors.New("must have url and query")
	case g.Token != "" && u.Scheme != "https" && !thisHost(u.Hostname()):
		return errors.New("must not send its token without encryption: use a url with https")
	case g.Type == "compare" && !g.comparable():
		return errors.New("must have max_ratio of at least 1, or margin of at least 0, or both")
	case g.Type == "metric" && g.Min == nil && g.Max == nil:
		return errors.New("must have min, max or both")
	case g.Min != nil && g.Max != nil && *g.Min > *g.Max:
		return errors.New("has a min above its max, so no value is good")
	case g.Sign != "" && g.URL == "":
		return errors.New("has nothing to sign without a url")
	case g.Interval < 1 || g.InitialDelay < 0 || g.Count < 1 || g.FailureLimit < 0 || g.ErrorLimit < 0:
		return errors.New("has a limit or time below its minimum")
	case g.Timeout > 0 && g.Timeout <= g.InitialDelay+int64(g.Count-1)*g.Interval:
		return errors.New("can never pass within its timeout: set it above initial_delay and the intervals of count")
	}
	return nil
}

// thisHost reports whether a host is the hub itself.
func thisHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// compare reads the attributes of a comparison. ok is false if its wave is the last one.
func (x gateBlock) compare(at hclsyntax.Attributes, g *Gate, r diag.Range) (ok bool) {
	if x.wave.Size == "" && x.wave.Selector == nil {
		x.Errorf(r, "Comparison without targets", "The wave %q takes all remaining targets, so no target is left with which "+
			"%q can compare them. Move the gate to an earlier wave, or set size in this wave.", x.wave.Name, g.Name)
		return false
	}
	g.Label = cmp.Or(x.textOf(at["label"]), "instance")
	g.Worse = "higher"
	if a := at["worse"]; a != nil {
		g.Worse = x.textOf(a)
		if words := worseValues(); !slices.Contains(words, g.Worse) {
			x.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown value", "%s must be one of %s, and this is %q.%s", a.Name,
				strings.Join(words, ", "), g.Worse, syntax.Near(g.Worse, words))
			g.Worse = "higher"
		}
	}
	g.MinSample = x.number(at["min_sample"], 5, 1)
	g.MaxRatio, g.Margin = x.float(at["max_ratio"]), x.float(at["margin"])
	return true
}

func worseValues() []string { return []string{"higher", "lower"} }

// asksPrometheus reports whether the gate needs a query.
func (g Gate) asksPrometheus() bool { return g.Type == "metric" || g.Type == "compare" }

// comparable reports whether a comparison has a limit, and no limit is below its minimum.
func (g Gate) comparable() bool {
	return g.Label != "" && slices.Contains(worseValues(), g.Worse) && g.MinSample > 0 &&
		(g.MaxRatio != nil || g.Margin != nil) && (g.MaxRatio == nil || *g.MaxRatio >= 1) &&
		(g.Margin == nil || *g.Margin >= 0)
}
