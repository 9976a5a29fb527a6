// Package service is the kinds service and unit: systemd units, and the
// actions that reload and restart them.
//
//	service "nginx" {
//	  enabled = true
//	  running = true
//	}
package service

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kinds gives service and unit, which differ in nothing but their names. The
// value is fresh at each call.
func Kinds() []kind.Kind {
	k := kind.Kind{
		Name: "service", Main: "name", Steps: steps, Actions: actions(),
		Doc: "A systemd unit: enabled, running, masked. reload and the other actions run if they are notified.",
		Attrs: []kind.Attr{
			{Name: "name", Type: cty.String, Required: true,
				Doc: "the unit; the default suffix is .service; default: the label"},
			{Name: "enabled", Type: cty.Bool, Doc: "started at boot"},
			{Name: "running", Type: cty.Bool, Doc: "running now"},
			{Name: "active", Type: cty.Bool, Doc: "the same as running"},
			{Name: "masked", Type: cty.Bool,
				Doc: "cannot be started; a unit that is running keeps running unless running is false"},
			{Name: "timeout", Type: cty.String, Doc: "time limit to start or stop it, such as 30s; default: 5m"},
		},
	}
	u := k
	u.Name = "unit"
	return []kind.Kind{k, u}
}

func actions() []kind.Action {
	var out []kind.Action
	for _, name := range []string{"reload", "restart", "start", "stop"} {
		out = append(out, kind.Action{Name: name, Doc: name + "s the unit", Act: func(s kind.State) (step.Step, diag.List) {
			return s.Step(step.Act, []string{name, unitName(s)}, step.Attr{Key: "timeout", Value: s.Str("timeout")})
		}})
	}
	return out
}

// unitName is the name with its suffix.
func unitName(s kind.State) string {
	name := s.Str("name")
	for _, suffix := range []string{".service", ".socket", ".timer", ".path", ".mount", ".automount", ".swap", ".target",
		".slice", ".scope", ".device"} {
		if strings.HasSuffix(name, suffix) {
			return name
		}
	}
	return name + ".service"
}

func steps(s kind.State) (kind.Output, diag.List) {
	active := s.Flag("running")
	if s.Given("active") {
		if s.Given("running") && s.Bool("running") != s.Bool("active") {
			return kind.Output{}, s.Errorf("active", "Running and not running",
				"running and active are the same attribute. Remove one of them.")
		}
		active = s.Flag("active")
	}
	attrs := []step.Attr{{Key: "enabled", Value: s.Flag("enabled")}, {Key: "masked", Value: s.Flag("masked")},
		{Key: "active", Value: active}}
	for _, a := range attrs {
		if a.Value != "" {
			return s.One(step.Unit, []string{unitName(s)}, append(attrs, step.Attr{Key: "timeout", Value: s.Str("timeout")})...)
		}
	}
	return kind.Output{}, nil // only its actions are used
}
