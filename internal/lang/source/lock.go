package source

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/amount"
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
	x.only(b, []string{"slots", "lease", "on_expiry", "reboots", "wait", "alarm_after", "description"}, nil)
	if !x.lockNamed(name, r) {
		return
	}
	at := b.Body.Attributes
	x.prog.Locks = append(x.prog.Locks, &Lock{Name: name, Slots: x.slots(at["slots"]), Lease: x.lease(at["lease"]),
		OnExpiry: x.effect(at["on_expiry"]), Reboots: x.reboots(at["reboots"]), Wait: x.wait(at["wait"]),
		AlarmAfter: waitBlock(x).waitTime(at["alarm_after"], "0s"), Range: r})
}

// moduleLock reads the locks of a module.
func (ps *parser) moduleLock(a *hclsyntax.Attribute) {
	if old := ps.body.Lock; old != nil {
		ps.Errorf(syntax.RangeOf(a.NameRange), "Lock set twice",
			"At %s the module already has a lock. Use one list for all locks: lock = [\"a\", \"b\"].",
			syntax.RangeOf(old.NameRange))
		return
	}
	ps.body.Lock = a
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
	case l.AlarmAfter != 0 && (l.AlarmAfter < MinWaitTime || l.AlarmAfter > MaxWaitTime):
		return fmt.Errorf("has an alarm after %d s", l.AlarmAfter)
	case !slices.Contains(LockEffects(), l.OnExpiry):
		return fmt.Errorf("has the effect %.40q", l.OnExpiry)
	}
	return nil
}

// Limits of barriers and signals. Times are in seconds.
const (
	MaxBarriers = 100
	MaxSignals  = 100
	MaxMembers  = 1000 // of a barrier, and targets that can send a signal
	MinWaitTime = 60
	MaxWaitTime = 30 * 24 * 3600
)

// AllMembers is the quorum of all members of a barrier.
const AllMembers = "all"

// waitBlock reads one barrier or signal block. Its values are evaluated before any target is known.
type waitBlock struct{ rolloutBlock }

// read adds the barrier or the signal to the program.
func (x waitBlock) read(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	known := []string{"targets", "labels", "description", "quorum", "offline_after", "alarm_after"}
	if b.Type == "signal" {
		known = []string{"targets", "labels", "description", "keep"}
	}
	x.only(b, known, nil)
	if !x.nameFree(b.Type, name, r) {
		return
	}
	at := b.Body.Attributes
	selects := at["targets"] != nil || at["labels"] != nil
	switch {
	case b.Type == "signal":
		s := &Signal{Name: name, Range: r, Keep: x.waitTime(at["keep"], "24h")}
		if selects {
			senders := x.targetSelector(at)
			s.Senders = &senders
		}
		x.prog.Signals = append(x.prog.Signals, s)
	case !selects:
		x.Errorf(r, "Barrier without members",
			`Set targets = ["web*"] or labels = { role = "db" }. To select all targets, write targets = ["*"].`)
	default:
		x.prog.Barriers = append(x.prog.Barriers, &Barrier{Name: name, Range: r, Members: x.targetSelector(at),
			Quorum: x.quorum(at["quorum"]), OfflineAfter: x.waitTime(at["offline_after"], "0s"),
			AlarmAfter: x.waitTime(at["alarm_after"], "0s")})
	}
}

// nameFree reports whether the name can be used.
func (x waitBlock) nameFree(what, name string, r diag.Range) bool {
	all := map[string]diag.Range{}
	for _, b := range x.prog.Barriers {
		if what == "barrier" {
			all[b.Name] = b.Range
		}
	}
	for _, s := range x.prog.Signals {
		if what == "signal" {
			all[s.Name] = s.Range
		}
	}
	old, twice := all[name]
	switch {
	case !lockName().MatchString(name) || len(name) > maxLockName:
		x.Errorf(r, "Bad name for a "+what,
			"%q is not a valid name. Use up to %d letters, digits, _ and -, and begin with a letter.", name, maxLockName)
	case twice:
		x.Errorf(r, "Block declared twice", "The %s %q is already declared at %s. Rename or remove one of the two.", what,
			name, old)
	case len(all) == MaxBarriers:
		x.Errorf(r, "Too many blocks", "A repository can declare %d blocks of the type %s.", MaxBarriers, what)
	default:
		return true
	}
	return false
}

// waitTime returns a time in seconds. Only the default can be outside of the limits.
func (x waitBlock) waitTime(a *hclsyntax.Attribute, absent string) int64 {
	before := len(x.List)
	n := x.seconds(a, absent, false)
	if a != nil && len(x.List) == before && (n < MinWaitTime || n > MaxWaitTime) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Invalid duration", "%s must be from 1m to 30d.", a.Name)
	}
	return n
}

// quorum returns a quorum that ValidQuorum accepts.
func (x waitBlock) quorum(a *hclsyntax.Attribute) string {
	if a == nil {
		return AllMembers
	}
	text, ok := x.scalar(a, `"all", a number such as 3, or a percentage such as "80%"`)
	if ok && !ValidQuorum(text) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad quorum",
			`quorum must be "all", a number from 1 to %d, or a percentage from "1%%" to "100%%", and this is %q.%s`, MaxMembers,
			text, syntax.Near(text, []string{AllMembers}))
	}
	return text
}

// ValidQuorum reports whether a text is a quorum.
func ValidQuorum(text string) bool {
	n, err := amount.Parse(text)
	return text == AllMembers || err == nil && n.Number > 0 && (n.Percent || n.Number <= MaxMembers) && n.String() == text
}

// ValidWait reports whether the name of a barrier or signal, and its sorted list of targets, are possible.
func ValidWait(name string, targets []string) bool {
	return lockName().MatchString(name) && len(name) <= maxLockName && len(targets) <= MaxMembers &&
		slices.IsSorted(targets)
}

// Limits of organizations.
const (
	MaxOrganizations = 200
	MaxApprovals     = 20
	maxFreezeReason  = 200 // bytes
)

// organizationPath is the form of fleet.Organization.
var organizationPath = sync.OnceValue(func() *regexp.Regexp {
	const name = `[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?`
	return regexp.MustCompile("^" + name + "(/" + name + "){0,7}$")
})

// organizationBlock reads one organization block. Its values are evaluated before any target is known.
type organizationBlock struct{ rolloutBlock }

// read adds the organization to the program.
func (x organizationBlock) read(b *hclsyntax.Block) {
	name, r, ok := x.label(b)
	if !ok {
		return
	}
	x.only(b, []string{"freeze", "max_unavailable", "approvals", "description"}, nil)
	if !x.pathFree(name, r) {
		return
	}
	at := b.Body.Attributes
	o := &Organization{Name: name, Range: r, Freeze: x.reason(at["freeze"]),
		MaxUnavailable: x.amount(at["max_unavailable"], "", true),
		Approvals:      scopeBlock(x).whole(at["approvals"], 0, 0, MaxApprovals)}
	x.prog.Organizations = append(x.prog.Organizations, o)
}

// pathFree reports whether the path can be used.
func (x organizationBlock) pathFree(name string, r diag.Range) bool {
	i := slices.IndexFunc(x.prog.Organizations, func(o *Organization) bool { return o.Name == name })
	switch {
	case !organizationPath().MatchString(name):
		x.Errorf(r, "Bad name for an organization", "%.80q is not a valid path. Use up to 8 names with / between them, "+
			"each of up to 64 letters, digits and -.", name)
	case i >= 0:
		x.Errorf(r, "Organization declared twice",
			"The organization %q is already declared at %s. Rename or remove one of the two.", name,
			x.prog.Organizations[i].Range)
	case len(x.prog.Organizations) == MaxOrganizations:
		x.Errorf(r, "Too many organizations",
			"A repository can declare %d organizations. Organizations without limits need no block.", MaxOrganizations)
	default:
		return true
	}
	return false
}

// reason returns the reason of a freeze, "" without the attribute.
func (x organizationBlock) reason(a *hclsyntax.Attribute) string {
	if a == nil {
		return ""
	}
	text, ok := x.scalar(a, `a reason such as "audit until Friday"`)
	if ok && !validReason(text) {
		x.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad reason",
			"freeze must be a reason of one line with up to %d bytes. To end the freeze, remove the attribute.", maxFreezeReason)
	}
	return text
}

func validReason(text string) bool {
	return strings.TrimSpace(text) != "" && len(text) <= maxFreezeReason && !strings.ContainsAny(text, "\r\n")
}

// Valid reports a value that an organization cannot have.
func (o Organization) Valid() error {
	n, err := amount.Parse(o.MaxUnavailable)
	switch {
	case !organizationPath().MatchString(o.Name):
		return fmt.Errorf("has the path %.80q", o.Name)
	case o.Freeze != "" && !validReason(o.Freeze):
		return fmt.Errorf("has a freeze with the reason %.80q", o.Freeze)
	case o.MaxUnavailable != "" && (err != nil || n.Number == 0):
		return fmt.Errorf("has the limit %.40q", o.MaxUnavailable)
	case o.Approvals < 0 || o.Approvals > MaxApprovals:
		return fmt.Errorf("needs %d approvals", o.Approvals)
	}
	return nil
}
