package source

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/window"
)

// Window returns the declared window with a name, or nil.
func (p *Program) Window(name string) *Window {
	i := slices.IndexFunc(p.Windows, func(w *Window) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return p.Windows[i]
}

// WindowEffects are the values of changes in a window block.
func WindowEffects() []string { return []string{"allow", "deny"} }

// windowBlock reads one window block. Its values are evaluated before any target is known.
type windowBlock struct{ rolloutBlock }

// read adds the window to the program.
func (x windowBlock) read(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	x.only(b, []string{"schedule", "duration", "zone", "changes", "description"}, nil)
	if !x.windowNamed(name, r) {
		return
	}
	w := &Window{Range: r}
	w.Name, w.Zone = name, "UTC"
	at := b.Body.Attributes
	for _, needed := range []string{"schedule", "duration"} {
		if at[needed] == nil {
			x.Errorf(r, "Missing attribute", "The window %q has no %s. Set it.", name, needed)
		}
	}
	x.checked(at["schedule"], `a schedule such as "0 2 * * *"`, &w.Schedule, window.CheckSchedule)
	x.checked(at["zone"], `a zone such as "Europe/Berlin", or "target"`, &w.Zone, zoneError, window.TargetZone, "UTC")
	w.Seconds = x.length(at["duration"])
	w.Deny = x.denies(at["changes"])
	x.prog.Windows = append(x.prog.Windows, w)
}

// zoneError returns an error if a text is neither a zone nor the zone of each target.
func zoneError(text string) error {
	if text == window.TargetZone {
		return nil
	}
	_, err := window.Zone(text)
	return err
}

// windowNamed reports whether the name can be used.
func (x windowBlock) windowNamed(name string, r diag.Range) bool {
	old := x.prog.Window(name)
	switch {
	case !hclsyntax.ValidIdentifier(name):
		x.Errorf(r, "Bad name for a window",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
	case old != nil:
		x.Errorf(r, "Window declared twice", "The window %q is already declared at %s. Rename or remove one of the two.",
			name, old.Range)
	default:
		return true
	}
	return false
}

// checked stores the text of an attribute, if there is one. An error suggests one of the names.
func (x windowBlock) checked(a *hclsyntax.Attribute, want string, into *string, check func(string) error,
	names ...string) {
	if a == nil {
		return
	}
	text, ok := x.scalar(a, want)
	if !ok {
		return
	}
	if err := check(text); err != nil {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid window", "%s: %v.%s", a.Name, err,
			syntax.Near(text, names))
	}
	*into = text
}

// length returns the duration of a window in seconds.
func (x windowBlock) length(a *hclsyntax.Attribute) int64 {
	if a == nil {
		return 0
	}
	before := len(x.List)
	n := x.seconds(a, "", true)
	if len(x.List) == before && (n < window.MinSeconds || n > window.MaxSeconds) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid window", "duration must be from 5m to 31d.")
	}
	return n
}

func (x windowBlock) denies(a *hclsyntax.Attribute) bool {
	if a == nil {
		return false
	}
	text, ok := x.scalar(a, "one of "+strings.Join(WindowEffects(), ", "))
	if ok && !slices.Contains(WindowEffects(), text) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown value", "%s must be one of %s, and this is %q.%s", a.Name,
			strings.Join(WindowEffects(), ", "), text, syntax.Near(text, WindowEffects()))
	}
	return text == "deny"
}
