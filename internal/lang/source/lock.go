package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Limits of locks. Leases and waits are in seconds.
const (
	MaxLocks    = 200
	MaxSlots    = 1000
	MinLease    = 10
	MaxLease    = 30 * 24 * 3600
	MaxWait     = 24 * 3600
	maxLockName = 63 // bytes
)

// LockEffects are the values of on_expiry in a lock block. The first is the default.
func LockEffects() []string { return []string{"keep", "free"} }

// lockName excludes names that hubs cannot use as a key.
var lockName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][-_A-Za-z0-9]*$`) })

// lockBlock reads one lock block. Its values are evaluated before any target is known.
type lockBlock struct{ rolloutBlock }

// read adds the lock to the program.
func (x lockBlock) read(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	x.only(b, []string{"slots", "lease", "on_expiry", "reboots", "wait", "description"}, nil)
	if !x.lockNamed(name, r) {
		return
	}
	at := b.Body.Attributes
	x.prog.Locks = append(x.prog.Locks, &Lock{Name: name, Slots: x.slots(at["slots"]), Lease: x.lease(at["lease"]),
		OnExpiry: x.effect(at["on_expiry"]), Reboots: x.reboots(at["reboots"]), Wait: x.wait(at["wait"]),
		Range: r})
}

// lockNamed reports whether the name can be used.
func (x lockBlock) lockNamed(name string, r diag.Range) bool {
	i := slices.IndexFunc(x.prog.Locks, func(l *Lock) bool { return l.Name == name })
	switch {
	case !lockName().MatchString(name) || len(name) > maxLockName:
		x.Errorf(r, "Bad name for a lock",
			"%q is not a valid name. Use up to %d letters, digits, _ and -, and begin with a letter.", name, maxLockName)
	case i >= 0:
		x.Errorf(r, "Lock declared twice", "The lock %q is already declared at %s. Rename or remove one of the two.",
			name, x.prog.Locks[i].Range)
	case len(x.prog.Locks) == MaxLocks:
		x.Errorf(r, "Too many locks", "A repository can declare %d locks. Use one lock for several purposes.", MaxLocks)
	default:
		return true
	}
	return false
}

func (x lockBlock) slots(a *hclsyntax.Attribute) int {
	if a == nil {
		return 1
	}
	text, ok := x.scalar(a, "a whole number")
	n, err := strconv.Atoi(text)
	if ok && (err != nil || n < 1 || n > MaxSlots) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number", "slots must be a whole number from 1 to %d, and this is %q.",
			MaxSlots, text)
	}
	return n
}

func (x lockBlock) lease(a *hclsyntax.Attribute) int64 {
	before := len(x.List)
	n := x.seconds(a, "30m", true)
	if len(x.List) == before && (n < MinLease || n > MaxLease) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid lease", "lease must be from 10s to 30d.")
	}
	return n
}

// wait returns the time for which a run waits for a slot, 0 without the attribute.
func (x lockBlock) wait(a *hclsyntax.Attribute) int64 {
	if a == nil {
		return 0
	}
	before := len(x.List)
	n := x.seconds(a, "", true)
	if len(x.List) == before && (n < 1 || n > MaxWait) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid wait", "wait must be from 1s to 1d.")
	}
	return n
}

// reboots reports whether targets need a slot of the lock for a reboot. Only one lock can have this purpose.
func (x lockBlock) reboots(a *hclsyntax.Attribute) bool {
	if a == nil {
		return false
	}
	r := syntax.RangeOf(a.Expr.Range())
	text, ok := x.scalar(a, "true or false")
	if ok && text != "true" && text != "false" {
		x.Errorf(r, "Wrong type", "reboots must be true or false, and this is %q.", text)
	}
	i := slices.IndexFunc(x.prog.Locks, func(l *Lock) bool { return l.Reboots })
	if text == "true" && i >= 0 {
		x.Errorf(r, "Two locks for reboots", "The lock %q already limits reboots. Remove reboots from one of the two.",
			x.prog.Locks[i].Name)
	}
	return text == "true"
}

func (x lockBlock) effect(a *hclsyntax.Attribute) string {
	if a == nil {
		return LockEffects()[0]
	}
	text, ok := x.scalar(a, "one of "+strings.Join(LockEffects(), ", "))
	if ok && !slices.Contains(LockEffects(), text) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Unknown value", "on_expiry must be one of %s, and this is %q.%s",
			strings.Join(LockEffects(), ", "), text, syntax.Near(text, LockEffects()))
	}
	return text
}

// Valid reports a value that a lock cannot have.
func (l Lock) Valid() error {
	switch {
	case !lockName().MatchString(l.Name) || len(l.Name) > maxLockName:
		return fmt.Errorf("has the name %.80q", l.Name)
	case l.Slots < 1 || l.Slots > MaxSlots:
		return fmt.Errorf("has %d slots", l.Slots)
	case l.Lease < MinLease || l.Lease > MaxLease:
		return fmt.Errorf("has a lease of %d s", l.Lease)
	case l.Wait < 0 || l.Wait > MaxWait:
		return fmt.Errorf("has a wait of %d s", l.Wait)
	case !slices.Contains(LockEffects(), l.OnExpiry):
		return fmt.Errorf("has the effect %.40q", l.OnExpiry)
	}
	return nil
}
