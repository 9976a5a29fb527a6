package host

import (
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
)

// refuseFrozen ends a command that would change a frozen machine, before
// anything is planned.
func refuseFrozen(s *cli.Printer, st executor.Condition) error {
	if st.Frozen == nil {
		return nil
	}
	why := ""
	if st.Frozen.Why != "" {
		why = ": " + st.Frozen.Why
	}
	text := fmt.Sprintf("this host was frozen by %s at %s%s%s", st.Frozen.By, s.Moment(st.Frozen.At),
		frozenUntil(s, st.Frozen), why)
	return cli.WithHint(fmt.Errorf("%w: %s", executor.ErrFrozen, text), "See what would change: fettle plan\n"+
		"Allow changes again: fettle unfreeze\nOr change it nevertheless: add --ignore-freeze")
}

func frozenText(s *cli.Printer, f *journal.Frozen) string {
	if f == nil {
		return ""
	}
	text := fmt.Sprintf("by %s at %s%s", f.By, s.Moment(f.At), frozenUntil(s, f))
	if f.Why != "" {
		text += ": " + f.Why
	}
	return text + "; to allow changes type: fettle unfreeze"
}

// frozenUntil returns " until TIME" for a freeze with an end, and "" for another one.
func frozenUntil(s *cli.Printer, f *journal.Frozen) string {
	if f.Until == 0 {
		return ""
	}
	return " until " + s.Moment(f.Until)
}
