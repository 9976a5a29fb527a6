package notify

import (
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/selection"
)

// DefaultEvery is the default time for which a rule gathers items.
const DefaultEvery = 30 * time.Second

// Kinds of conditions other than kinds of alarms and states.
const (
	AnyAlarm   = "alarm" // all alarms
	HubProblem = "hub"   // the hub itself has a problem
)

// States returns the states of targets that are conditions.
func States() []document.State {
	return []document.State{document.Failed, document.Unresponsive, document.Drifted, document.Unknown, document.Blocked}
}

func alarms() []assign.AlarmKind {
	return []assign.AlarmKind{assign.Unreadable, assign.MassRemoval, assign.UnregisteredTarget, assign.SameName,
		assign.Unresolved, assign.Conflict, assign.TooManyPinned,
		assign.ConfigurationError, assign.NoBundle, assign.TooMuchExported, assign.WrongValue, assign.Behind,
		assign.Incompatible, assign.Cloned, assign.Redundancy}
}

// Events returns the kinds of events that a rule can select. Kinds that are conditions too are
// omitted.
func Events() []string {
	out := []string{}
	for _, k := range []fleet.HubEventKind{fleet.TargetEnrolled, fleet.Approved, fleet.Labelled, fleet.Pinned,
		fleet.Unpinned, fleet.TargetFrozen, fleet.TargetUnfrozen, fleet.TargetRetired, fleet.TargetRevoked,
		fleet.RepositoryUpdated, fleet.JobChanged, fleet.LeaderChanged, fleet.RequestReceived, fleet.RequestPolicyChanged,
		fleet.ServiceCertified, fleet.Suspected, fleet.Trusted} {
		out = append(out, string(k))
	}
	for _, k := range []fleet.EventKind{fleet.Refused, fleet.Applied, fleet.RolledBack, fleet.Repaired, fleet.Ran,
		fleet.Upgraded} {
		out = append(out, string(k))
	}
	return out
}

// Kinds returns all kinds that a rule can select.
func Kinds() []string {
	out := []string{AnyAlarm, HubProblem}
	for _, s := range States() {
		out = append(out, string(s))
	}
	for _, a := range alarms() {
		out = append(out, string(a))
	}
	return append(out, Events()...)
}

// SelectedKinds returns the kinds that a rule selects.
func SelectedKinds(r document.Notification) []string {
	if len(r.On) > 0 {
		return r.On
	}
	return []string{AnyAlarm, string(document.Failed), string(document.Unresponsive), HubProblem}
}

// SelectsCondition reports whether a rule selects a kind of condition.
func SelectsCondition(r document.Notification, kind string) bool {
	on := SelectedKinds(r)
	return slices.Contains(on, kind) || slices.Contains(on, AnyAlarm) && slices.Contains(alarms(), assign.AlarmKind(kind))
}

// every returns the time in ns for which a rule gathers items.
func every(r document.Notification) int64 { return cmp.Or(r.Every, int64(DefaultEvery)) }

var fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// CheckName returns an error for an invalid name of a rule or of its files.
func CheckName(name string) error {
	if !fileName().MatchString(name) {
		return fmt.Errorf(
			"cannot use the name %.80q: use up to 64 letters, digits, dots, - and _, and begin with a letter or digit", name)
	}
	return nil
}

// Check returns an error for an invalid rule.
func Check(r document.Notification) error {
	errs := []error{CheckName(r.Name)}
	for _, k := range r.On {
		if !slices.Contains(Kinds(), k) {
			errs = append(errs, fmt.Errorf("cannot notify about %.40q: use one of %s", k, strings.Join(Kinds(), ", ")))
		}
	}
	if s, err := selection.Parse(r.Select); err != nil {
		errs = append(errs, err)
	} else if len(s.Files()) > 0 {
		errs = append(
			errs, errors.New("cannot use a file in the selection: a hub reads no such files. List the targets, or use a label"))
	}
	if r.Every < 0 || r.Every > int64(24*time.Hour) {
		errs = append(errs, errors.New("cannot gather for a negative time, or for more than a day"))
	}
	ways := 0
	for _, is := range []bool{r.Webhook != nil, r.Mail != nil, r.Command != nil} {
		if is {
			ways++
		}
	}
	if ways != 1 {
		errs = append(errs, errors.New("cannot send notices: a rule needs exactly one webhook, mail or command"))
	}
	errs = append(errs, checkWebhook(r.Webhook), checkMail(r.Mail), checkCommand(r.Command))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := render(r, example(r))
	return err
}

func checkFiles(names ...string) error {
	var errs []error
	for _, n := range names {
		if n != "" {
			errs = append(errs, CheckName(n))
		}
	}
	return errors.Join(errs...)
}

func checkWebhook(w *document.Webhook) error {
	if w == nil {
		return nil
	}
	if (w.URL == "") == (w.File == "") {
		return errors.New("cannot send to the webhook: give either its URL, or a file with the URL")
	}
	if w.URL != "" {
		if _, err := webhookURL(w.URL); err != nil {
			return err
		}
	}
	return checkFiles(w.File, w.Sign)
}

func webhookURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, errors.New("cannot send to this URL: write https://HOST/PATH, without a password")
	}
	return u, nil
}

func checkMail(m *document.Mail) error {
	if m == nil {
		return nil
	}
	errs := []error{checkFiles(m.Password)}
	if len(m.To) == 0 || len(m.To) > 50 {
		errs = append(errs, errors.New("cannot send mail: a rule needs 1 to 50 addresses"))
	}
	for _, a := range append([]string{m.From}, m.To...) {
		if _, err := mail.ParseAddress(a); err != nil {
			errs = append(errs, fmt.Errorf("cannot send mail from or to %.80q: %w", a, err))
		}
	}
	if _, _, err := mailServer(m.Server); err != nil {
		errs = append(errs, err)
	}
	if (m.User == "") != (m.Password == "") {
		errs = append(errs, errors.New("cannot log in to the mail server: give both a user and the file of its password"))
	}
	return errors.Join(errs...)
}

func checkCommand(c *document.Command) error {
	if c == nil {
		return nil
	}
	for _, a := range c.Args {
		if strings.ContainsRune(a, 0) {
			return errors.New("cannot use an argument with a NUL byte for a program")
		}
	}
	return CheckName(c.Program)
}
