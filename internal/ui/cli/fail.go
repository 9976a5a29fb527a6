package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/hint"
)

// ErrorDoc is the document of a command that failed.
type ErrorDoc struct {
	Format      string           `json:"format"` // fettle.error/1
	Exit        int              `json:"exit"`
	Error       string           `json:"error"`
	Hint        string           `json:"hint,omitempty"`
	Diagnostics []DiagnosticJSON `json:"diagnostics,omitempty"`
}

// DiagnosticJSON is an error or a warning about a repository, in JSON documents.
type DiagnosticJSON struct {
	Severity string       `json:"severity"`
	Summary  string       `json:"summary"`
	Detail   string       `json:"detail,omitempty"`
	Range    diag.Range   `json:"range"`
	Line     string       `json:"line,omitempty"`
	Trace    []diag.Range `json:"trace,omitempty"`
}

// DiagnosticsJSON converts diagnostics in their order.
func DiagnosticsJSON(l diag.List) []DiagnosticJSON {
	var out []DiagnosticJSON
	for _, d := range l {
		out = append(out, DiagnosticJSON{d.Severity.String(), d.Summary, d.Detail, d.Range, d.Line, d.Trace})
	}
	return out
}

// Fail prints an error once, as text on stderr or as a document on stdout. The printed document of a
// command already contains its result.
func (s *Session) Fail(err error) {
	if err == nil || errors.Is(err, ErrChanges) || errors.Is(err, errReported) {
		return
	}
	hint := hintOf(err)
	if s.Remote != nil && s.At.Hub == "" && !s.At.Sudo && errors.Is(err, fs.ErrPermission) {
		hint = "Become root there: --sudo, or sudo = true in the ssh block of the target"
	}
	if s.Remote != nil && s.At.Hub != "" && errors.Is(err, fs.ErrPermission) {
		hint = "If you only have read access, ask an admin of the fleet for the role operate"
	}
	if s.Remote != nil && errors.Is(err, wire.ErrLost) {
		hint = lostHint(s)
	}
	var list *diag.ListError
	isList := errors.As(err, &list)
	if s.JSON {
		if s.Documented {
			return
		}
		doc := ErrorDoc{Format: "fettle.error/1", Exit: ExitCode(err), Error: err.Error(), Hint: hint}
		if isList {
			doc.Error, doc.Diagnostics = "the configuration has errors", DiagnosticsJSON(list.List)
		}
		_ = s.Document(doc)
		return
	}
	if isList {
		s.ErrStyle().Diagnostics(s.App.Stderr, list.List)
		s.ErrStyle().Hint(s.App.Stderr, hint)
		return
	}
	s.ErrStyle().Error(s.App.Stderr, err.Error(), hint)
}

// lostHint says what becomes of a run whose connection was lost.
func lostHint(s *Session) string {
	how := map[string]string{wire.Finish: "continues", wire.Stop: "stops",
		wire.Revert: "is undone"}[s.ConnectOpts.OnDisconnect.Value]
	where := ""
	if s.Target != "" {
		where = " -t " + s.Target
	}
	return fmt.Sprintf("A run that had started there %s. See its result: fettle status%s", how, where)
}

// hintOf returns the next command after an error: the hint of the error itself, otherwise the hint of
// its family. An error that names a command has none.
func hintOf(err error) string {
	if text, ok := hint.Of(err); ok {
		return text
	}
	var unreached *ssh.Error
	if errors.As(err, &unreached) {
		return unreached.Hint()
	}
	var refused *document.Problem
	if errors.As(err, &refused) {
		return refused.Hint
	}
	if errors.Is(err, executor.ErrForeign) {
		return "See what would happen: add --replace-applied-state to fettle plan\nReplace the applied state: add --replace-applied-state to fettle apply\nOr undo the applied state first: fettle rollback origin"
	}
	if strings.Contains(err.Error(), "fettle ") || strings.Contains(err.Error(), "type the command") {
		return ""
	}
	switch {
	case errors.Is(err, wire.ErrLost):
		return "Depending on --on-disconnect, a run that had started there continues, stops or is undone. See its result: fettle status"
	case errors.Is(err, executor.ErrLocked):
		return "Wait until it has finished, or see what runs: fettle status"
	case errors.Is(err, executor.ErrNoSlot):
		return "Try again later, or run without the locks: --without-locks"
	case errors.Is(err, executor.ErrStale):
		return "Make a new plan: fettle plan -o FILE"
	case errors.Is(err, executor.ErrFrozen):
		return "Unfreeze it first: fettle unfreeze"
	case errors.Is(err, executor.ErrIrreversible):
		return "Roll back anyway, and keep their effects: fettle rollback --cross-irreversible"
	case errors.Is(err, context.Canceled):
		return "Each change is either complete or undone. See the changes: fettle status"
	case errors.Is(err, fs.ErrPermission):
		return "Run it as root: sudo fettle … — or on a directory of your own: --root DIR"
	}
	return ""
}
