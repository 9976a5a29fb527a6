package apply

import (
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/step"
)

// reloadFor makes systemd read changed unit files before a step that uses units.
func (r *run) reloadFor(s step.Step) {
	if r.reload && (s.Verb == step.Unit || s.Verb == step.Act) {
		r.daemonReload()
	}
}

func (r *run) daemonReload() {
	r.reload = false
	units, err := r.Host.Units()
	if err != nil {
		return // no service manager is running
	}
	if err := units.Reload(r.ctx); err != nil {
		r.note("systemd could not read the changed unit files: " + err.Error())
	}
}

// settleMachine syncs the file systems to which programs wrote, before the journal records the change
// as done. useradd, dpkg and similar tools may not sync their files.
func (r *run) settleMachine() error {
	dirs := []string{"/"}
	for _, d := range []string{"/boot", "/etc", "/home", "/usr", "/var"} {
		if st, err := r.Host.Lstat(d); err == nil && st.Type == image.Directory {
			dirs = append(dirs, d)
		}
	}
	return move.SyncFS(r.Host, dirs)
}
