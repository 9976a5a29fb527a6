package ssh

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/executor/wire"
)

// Class says what kind of thing kept a target from being reached.
type Class string

// The classes.
const (
	Unreachable   Class = "unreachable"    // the name does not resolve, the port is closed, or there is no answer
	HostUnknown   Class = "host-unknown"   // its key was never seen
	HostChanged   Class = "host-changed"   // it shows another key than before
	Denied        Class = "denied"         // it does not let us in
	SudoAsks      Class = "sudo-asks"      // for a password, and there is none
	SudoWrong     Class = "sudo-wrong"     // the password is wrong
	SudoDenied    Class = "sudo-denied"    // the account may not
	Unfit         Class = "unfit"          // there is no program for its processor
	NoRoom        Class = "no-room"        // its disk is full, or not to be written
	NotRun        Class = "not-run"        // it runs no program from where ours can be
	Interrupted   Class = "interrupted"    // we gave it up
	NotUnderstood Class = "not-understood" // a service other than fettle answered
)

// Error is why a target could not be reached.
type Error struct {
	Address Address
	Class   Class
	Text    string // the reason, without the address
	Advice  string // the next command or action
	Said    string // the unchanged output of OpenSSH
	Cause   error
}

func (e *Error) Error() string { return fmt.Sprintf("cannot reach %s: %s", e.Address, e.Text) }

// Hint returns the next command or action.
func (e *Error) Hint() string { return e.Advice }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Cause }

// rule tells one way to fail by what OpenSSH or sudo says.
type rule struct {
	says   string
	class  Class
	text   string
	advice string
}

// turnedAway is what OpenSSH says when the other end leaves before its banner.
const turnedAway = "kex_exchange_identification"

// penalized is advice for it: sshd gives its reason only to its own journal.
const penalized = "sshd there may be penalizing this address after failed logins (PerSourcePenalties, OpenSSH 9.8 and later, so Debian 13), " +
	"or too many clients are connecting at the same time (MaxStartups). Wait some minutes; for the reason, run there: journalctl -u ssh\n" +
	"To exempt your address permanently, add it to PerSourcePenaltyExemptList in sshd_config there. Try: ssh -v %h"

// rules are tried in turn. %h is the host as it was asked for.
func rules() []rule {
	return []rule{
		{"REMOTE HOST IDENTIFICATION HAS CHANGED", HostChanged, "its host key has changed",
			"If the host was installed again, and you know its new fingerprint, run: ssh-keygen -R %h\nOtherwise an attacker may be between you and the host: do not continue."},
		{"host key is known for", HostUnknown, "its host key is not known",
			"Compare its fingerprint with the output on its console: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub\nThen log in once: ssh %h — or accept the key without a comparison: --accept-new"},
		{"Host key verification failed", HostUnknown, "its host key was not accepted", "Log in once to see why: ssh %h"},
		{"Permission denied", Denied, "it refused your login", "Try: ssh -v %h"},
		{"Too many authentication failures", Denied, "it refused your login: ssh offered too many keys",
			"Name the right key in ssh_config: IdentityFile, with IdentitiesOnly yes"},
		{"Could not resolve hostname", Unreachable, "its name cannot be resolved", "Try: ssh %h"},
		{"Connection refused", Unreachable, "the port refuses connections", "Is sshd running, and on this port? Try: ssh %h"},
		{"Connection timed out", Unreachable, "no answer", "Try: ssh -v %h"},
		{"No route to host", Unreachable, "there is no route to it", "Try: ssh -v %h"},
		{"Network is unreachable", Unreachable, "the network is unreachable", "Try: ssh -v %h"},
		{turnedAway, Unreachable, "it ended the connection before the SSH handshake", penalized},
		{"Connection closed by", Unreachable, "it closed the connection", "Try: ssh -v %h"},
		{"Connection reset by", Unreachable, "it reset the connection", "Try: ssh -v %h"},
		{"is not in the sudoers file", SudoDenied, "the account may not use sudo there",
			"Allow it: visudo, or the group sudo"},
		{"is not allowed to execute", SudoDenied, "the account may not use sudo for this",
			"Allow the account to run programs as root: visudo"},
		{"sudo: a terminal is required", SudoAsks, "sudo there requires a terminal",
			"Remove requiretty from its sudoers file"},
		{"sudo: not found", SudoDenied, "sudo is not installed there", "Log in as root, or install sudo"},
		{"exec: restricted", NotUnderstood, "the login shell of the account there is a restricted one",
			"Set another shell: chsh -s /bin/sh USER — or log in with another account"},
		{"No space left on device", NoRoom, "its disk is full", "Free space there, then try again"},
	}
}

var fingerprint = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(SHA256:[A-Za-z0-9+/=]+)`) })
var offending = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Offending (\S+) key in (\S+:\d+)`) })

// explain converts a failure to an *Error. It waits a moment for ssh to end, because ssh
// prints the reason only then.
func (p *process) explain(a Address, err error) error {
	if e := explainBoot(a, err); e != nil {
		return e
	}
	p.lastWords()
	text, trouble := p.errs.all()
	e := &Error{Address: a, Cause: err, Said: text}
	switch {
	case errors.Is(trouble, errSudoAsks):
		e.Class, e.Text, e.Advice = SudoAsks, "sudo there asks for a password", "To enter it: --ask-sudo-password"
		return e
	case errors.Is(trouble, errSudoWrong):
		e.Class, e.Text, e.Advice = SudoWrong, "sudo there rejected the password", "Enter it again: --ask-sudo-password"
		return e
	case trouble != nil:
		e.Class, e.Text, e.Cause = SudoAsks, trouble.Error(), trouble
		return e
	}
	if p.notRun(text) {
		e.Class, e.Text = NotRun, "the fettle binary does not run there: "+oneLine(text)
		e.Advice = "Check the architecture of the host, and a noexec mount of the directory of the binary. Try: ssh " +
			a.Host + " uname -a"
		return e
	}
	for _, r := range rules() {
		if strings.Contains(text, r.says) {
			e.Class, e.Text, e.Advice = r.class, r.text, strings.ReplaceAll(r.advice, "%h", a.Host)
			e.keys(text)
			return e
		}
	}
	e.rest(p, err, text)
	return e
}

// keys adds the fingerprint of the presented host key, and the place of the recorded one.
func (e *Error) keys(text string) {
	if e.Class != HostChanged {
		return
	}
	if m := fingerprint().FindStringSubmatch(text); m != nil {
		e.Text += ": it shows " + m[1]
	}
	if m := offending().FindStringSubmatch(text); m != nil {
		e.Text += fmt.Sprintf(", and %s has another %s key", m[2], m[1])
	}
}

// rest describes failures that match no rule.
func (e *Error) rest(p *process, err error, text string) {
	e.Class = Unreachable
	e.Advice = "Try: ssh -v " + e.Address.Host
	said := oneLine(text + " " + p.noise.String())
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Text = strings.TrimSuffix(err.Error(), ": "+context.DeadlineExceeded.Error())
		if said != "" {
			e.Text += "; its output: " + said
		}
	case errors.Is(err, context.Canceled):
		e.Class, e.Text, e.Advice = Interrupted, "interrupted", ""
	case p.answered():
		e.Class, e.Text = NotUnderstood, "a program other than fettle answered, without output"
		if said != "" {
			e.Text = "a program other than fettle answered: " + said
		}
		e.Advice = "Check there for a forced command (command= in authorized_keys), and the login shell of the account. Try: ssh " + e.Address.Host + " uname -a"
	case said != "":
		e.Text = said
	case p.silent():
		e.Text = "ssh ended without an error message"
	default:
		e.Class, e.Text = NotUnderstood, err.Error()
	}
	var noise *wire.NoiseError
	if errors.As(err, &noise) {
		e.Class = NotUnderstood
	}
}

// explainBoot describes failures that the script reported.
func explainBoot(a Address, err error) *Error {
	var b *bootError
	if !errors.As(err, &b) {
		return nil
	}
	word, rest, _ := strings.Cut(b.said, " ")
	e := &Error{Address: a, Cause: err, Class: NoRoom}
	switch word {
	case "unfit":
		e.Class, e.Text = Unfit, fmt.Sprintf("there is no fettle binary for it: it is %s", rest)
		e.Advice = "fettle runs on Linux on amd64 and arm64. Your binary was built without the binary for the other architecture; build both: make programs"
	case "full":
		e.Text, e.Advice = "the fettle binary does not fit into "+rest, "Free space there, then try again"
	case "nowhere":
		e.Class, e.Text = NotRun, "no directory there can store the fettle binary: "+rest
		e.Advice = "Make one of them writable and mount it without noexec, " +
			"or name another directory in sshd_config there: SetEnv XDG_CACHE_HOME=DIR\n" +
			"Each directory above it must belong to root or the account, and no other user may have write access to it"
	case "damaged":
		e.Text, e.Advice = "the fettle binary was damaged on the way to "+rest,
			"Try again; if it fails again, check the disk there"
	default:
		e.Class, e.Text = NotUnderstood, b.said
	}
	return e
}

// oneLine is a text without its line breaks, and not too much of it.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 400 {
		text = text[:400] + "…"
	}
	return text
}

// code is the exit code of ssh, -1 while it runs or if it was killed.
func (p *process) code() int {
	select {
	case <-p.Ended:
		return p.Code()
	default:
		return -1
	}
}

// answered tells whether the target ended what it was asked to run: ssh gives its
// code, and 255 for its own troubles.
func (p *process) answered() bool { c := p.code(); return c >= 0 && c != 255 }

// notRun tells whether the shell there, or sudo, could not start the program.
func (p *process) notRun(text string) bool {
	c := p.code()
	return (c == 126 || c == 127) && strings.Contains(text, "/fettle-") ||
		strings.Contains(text, "sudo: unable to execute")
}

// silent tells whether ssh itself gave up, without a word.
func (p *process) silent() bool { return p.code() == 255 }
