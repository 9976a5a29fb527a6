package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"

	"fettle.dev/fettle/internal/host"
)

const (
	// settle is how long a service that systemd calls started at once is
	// watched for dying at once.
	settle = 300 * time.Millisecond
	// lookAgain is the interval for polling a job, in addition to its signal. The signal is lost
	// with the connection if D-Bus itself restarts.
	lookAgain = time.Second
)

// Job implements host.Units.
func (u *units) Job(ctx context.Context, verb, name string) error {
	name = unitName(name)
	if err := u.h.op("unit-"+verb, name); err != nil {
		return err
	}
	starts := verb == "start" || verb == "restart" || verb == "reload-or-restart"
	u.freshen(ctx, verb, name)
	if starts {
		u.forgetFailure(ctx, name)
		defer pin(ctx, name)()
	}
	result, err := u.runJob(ctx, verb, name)
	if err != nil {
		return u.explain(ctx, verb, name, err.Error(), ctx.Err())
	}
	switch {
	case verb == "try-restart" && result == "skipped":
		return nil
	case result != "done" && result != "":
		return u.explain(ctx, verb, name, jobEnd(result)+u.exit(ctx, name), nil)
	case verb == "stop":
		u.forgetFailure(ctx, name)
	case starts:
		if err := u.settled(ctx, verb, name); err != nil {
			return err
		}
		u.remember(ctx, name)
	}
	return nil
}

// freshen makes systemd read the unit's file again if the file has changed, so that a job uses the
// unit on disk. The process that changed the file can have died before it could reload.
func (u *units) freshen(ctx context.Context, verb, name string) {
	if verb == "stop" {
		return // stops the unit as it was started
	}
	if needs, err := u.NeedsReload(ctx, name); err == nil && needs {
		_ = u.reload(ctx) // if this fails, the job uses the loaded unit
	}
}

// forgetFailure clears a failed state, and its count of quick restarts, which would prevent the
// start of a repaired service. A stopped service can have ended with an exit code that systemd
// counts as a failure, as most containers do. The host would then report a failed unit that should
// not run.
func (u *units) forgetFailure(ctx context.Context, name string) {
	p, err := u.props(ctx, name)
	if err != nil || p.text("ActiveState") != "failed" && p.text("SubState") != "auto-restart" &&
		!restarting(p, monotonic()) {
		return
	}
	if c, err := u.bus(); err == nil {
		// If this fails, the start reports the reason.
		_ = c.ResetFailedUnitContext(ctx, name)
	}
}

// runJob queues the job and waits for its result: done, failed, timeout and so on. "" means that it
// has ended with an unknown result.
func (u *units) runJob(ctx context.Context, verb, name string) (string, error) {
	c, err := u.bus()
	if err != nil {
		return "", err
	}
	start, err := jobCall(c, verb)
	if err != nil {
		return "", err
	}
	ended := make(chan string, 1)
	queue, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	id, err := start(queue, name, "replace", ended)
	if err != nil {
		return "", err
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for gone := false; ; {
		select {
		case result := <-ended:
			return result, nil
		case <-ctx.Done():
			return "", fmt.Errorf("stopped waiting, but the job of systemd continues: %w", ctx.Err())
		case <-tick.C:
			if gone {
				return "", nil
			}
			gone = u.jobGone(ctx, name, id)
		}
	}
}

type startJob func(ctx context.Context, name, mode string, ch chan<- string) (int, error)

func jobCall(c *dbus.Conn, verb string) (startJob, error) {
	switch verb {
	case "start":
		return c.StartUnitContext, nil
	case "stop":
		return c.StopUnitContext, nil
	case "restart":
		return c.RestartUnitContext, nil
	case "reload":
		return c.ReloadUnitContext, nil
	case "try-restart":
		return c.TryRestartUnitContext, nil
	case "reload-or-restart":
		return c.ReloadOrRestartUnitContext, nil
	}
	return nil, fmt.Errorf("there is no job %q; use start, stop, restart, reload, try-restart or reload-or-restart", verb)
}

// jobGone reports whether the unit no longer has a job with this number.
func (u *units) jobGone(ctx context.Context, name string, id int) bool {
	p, err := u.props(ctx, name)
	if err != nil {
		return false
	}
	job, ok := p["Job"].([]any)
	if !ok || len(job) == 0 {
		return false
	}
	n, ok := job[0].(uint32)
	return ok && int(n) != id
}

// settled judges a unit whose start job ended well: systemd calls a job done
// too when a condition kept the unit from starting, or before a simple service
// has shown that it can live.
func (u *units) settled(ctx context.Context, verb, name string) error {
	deadline := time.Now().Add(settle)
	for {
		p, err := u.props(ctx, name)
		if err != nil {
			return err
		}
		active, quick := p.text("ActiveState"), p.text("Type") == "simple" || p.text("Type") == "exec" ||
			p.text("Type") == "idle"
		switch {
		case active == "failed" || p.text("SubState") == "auto-restart":
			return u.explain(ctx, verb, name, "it started and ended at once"+exitText(p), nil)
		case active == "inactive" && skipped(p):
			return u.explain(ctx, verb, name, "systemd skipped it, a condition is not met: "+conditions(p), nil)
		case !quick || active != "active" || !time.Now().Before(deadline):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settle / 6):
		}
	}
}

// skipped reports whether a condition prevented the last start.
func skipped(p props) bool {
	at, _ := p["ConditionTimestamp"].(uint64)
	ok, known := p["ConditionResult"].(bool)
	return known && !ok && at > 0
}

// conditions lists the conditions that were not met, as the unit file has them.
func conditions(p props) string {
	list, _ := p["Conditions"].([][]any)
	var out []string
	for _, c := range list {
		if len(c) < 5 {
			continue
		}
		name, _ := c[0].(string)
		negate, _ := c[2].(bool)
		param, _ := c[3].(string)
		met, _ := c[4].(int32)
		if met >= 0 {
			continue
		}
		out = append(out, name+"="+map[bool]string{true: "!"}[negate]+param)
	}
	if len(out) == 0 {
		return "see systemctl status"
	}
	return strings.Join(out, ", ")
}

func jobEnd(result string) string {
	switch result {
	case "timeout":
		return "it took longer than its time limit"
	case "dependency":
		return "a unit that it requires failed"
	case "canceled":
		return "another job replaced it"
	case "skipped":
		return "the unit is not running"
	}
	return "its job ended as " + result
}

func (u *units) exit(ctx context.Context, name string) string {
	p, err := u.props(ctx, name)
	if err != nil {
		return ""
	}
	return exitText(p)
}

// exitText describes the end of the main process, "" if there is nothing to report.
func exitText(p props) string {
	result := p.text("Result")
	if result == "" || result == "success" {
		return ""
	}
	status, _ := p["ExecMainStatus"].(int32)
	return fmt.Sprintf(" (%s, status %d)", result, status)
}

// explain returns the error of a job, with the unit's last log lines. cause is the error for
// callers to distinguish, or nil.
func (u *units) explain(ctx context.Context, verb, name, why string, cause error) error {
	text := fmt.Sprintf("cannot %s %s: %s", verb, name, why)
	if log := u.lastLines(ctx, name); log != "" {
		text += "\nlast log lines:\n" + log
	}
	if cause != nil && !strings.Contains(why, cause.Error()) {
		return fmt.Errorf("%s: %w", text, cause)
	}
	if cause != nil {
		return &jobError{text: text, cause: cause}
	}
	return errors.New(text)
}

// jobError carries a cause that its text already names.
type jobError struct {
	text  string
	cause error
}

func (e *jobError) Error() string { return e.text }
func (e *jobError) Unwrap() error { return e.cause }

// lastLines is the end of the unit's log, indented; "" when there is none. It
// works after the call's own time is over.
func (u *units) lastLines(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	// The last output of the service can still be buffered. Without this, the most useful line is
	// often missing.
	_, _ = u.h.Run(ctx, host.Command{Argv: []string{"journalctl", "--sync"}, Timeout: 5 * time.Second})
	r, err := u.h.Run(ctx, host.Command{Argv: []string{"journalctl", "-u", name, "-n", "10", "-o", "cat", "-q",
		"--no-pager"}, Timeout: 5 * time.Second})
	out := strings.TrimSpace(string(r.Stdout))
	if err != nil || r.ExitCode != 0 || out == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(out, "\n", "\n    ")
}
