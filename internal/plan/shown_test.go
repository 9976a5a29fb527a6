package plan

import (
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

func TestShown(t *testing.T) {
	file := func(t image.FileType) *image.Image { return new(image.Of(&image.File{Type: t})) }
	for _, c := range []struct {
		change Change
		want   Action
	}{
		{Change{Action: Remove, To: file(image.Absent)}, Remove},
		{Change{Action: Remove, To: file(image.Regular)}, Restore},
		{Change{Action: Remove, To: &image.Image{}}, Remove},
		{Change{Action: Remove, To: new(image.Of(&image.Package{}))}, Remove},
		{Change{Action: Remove, To: new(image.Of(&image.Package{Version: "1"}))}, Restore},
		{Change{Action: Remove, To: new(image.Of(&image.Unit{}))}, Remove},
		{Change{Action: Remove, To: new(image.Of(&image.Unit{Loaded: true}))}, Restore},
		{Change{Action: Remove, To: new(image.Of(&image.Exec{Known: true}))}, Remove},
		{Change{Action: Run, Step: parse("EXEC r shutdown -r +5")}, Reboot},
		{Change{Action: Run, Step: parse("EXEC r shutdown -hr now")}, Reboot},
		{Change{Action: Run, Step: parse("EXEC r shutdown --reboot +5")}, Reboot},
		{Change{Action: Run, Step: parse("EXEC r shutdown --poweroff now")}, Run},
		{Change{Action: Run, Step: parse("EXEC r /sbin/reboot")}, Reboot},
		{Change{Action: Run, Step: parse("EXEC r shutdown -h now")}, Run},
		{Change{Action: Run, Step: parse("EXEC r systemctl --no-block reboot")}, Reboot},
		{Change{Action: Run, Step: parse("EXEC r systemctl soft-reboot")}, Reboot},
		{Change{Action: Run, Step: parse(`EXEC r sh -c "test -d /x || exec shutdown -r +5; true"`)}, Reboot},
		{Change{Action: Run, Step: parse(`EXEC r sh -c "echo reboot; shutdown -c"`)}, Run},
		{Change{Action: Run, Step: parse("EXEC r systemctl kexec")}, Reboot},
		{Change{Action: Run, Step: parse("EXEC r systemctl daemon-reload")}, Run},
		{Change{Action: Drift, Step: parse("EXEC r /sbin/reboot")}, Drift},
		{Change{Action: Run, Step: parse("ACT run r systemctl reboot on=file:/x")}, Reboot},
		{Change{Action: Run, Step: parse("ACT run r reboot on=file:/x")}, Reboot},
		{Change{Action: Run, Step: parse("ACT restart reboot.service on=file:/x")}, Run},
		{Change{Action: Run, Step: parse("EXEC reboot /bin/true reboot")}, Run},
		{Change{Action: Run, Step: step.Step{Verb: step.Exec, Args: []string{"reboot"}}}, Run},
	} {
		if got := c.change.Shown(); got != c.want {
			t.Errorf("%s %s is shown as %s, want %s", c.change.Action, c.change.Step, got, c.want)
		}
	}
}
