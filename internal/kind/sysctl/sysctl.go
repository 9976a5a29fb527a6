// Package sysctl is the kind sysctl: a setting of the kernel, now and at the
// next boot.
//
//	sysctl "net.ipv4.ip_forward" {
//	  value = 1
//	}
package sysctl

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

var keyPattern = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_]+([./][A-Za-z0-9_:@-]+)+$`) })

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	file := kind.PathAttr("path", "file with the setting; default: /etc/sysctl.d/60-KEY.conf")
	file.Required = false
	return kind.Kind{
		Name: "sysctl", Main: "key", Steps: steps,
		Doc: "A setting of the kernel: its value now, and a file in /etc/sysctl.d that sets it at boot. With ensure = " +
			"\"absent\" the file is removed, and the value stays until the next boot.",
		Attrs: []kind.Attr{
			{Name: "key", Type: cty.String, Required: true,
				Doc: "the setting, such as net.ipv4.ip_forward; default: the label", Check: checkKey},
			{Name: "value", Type: cty.String, Doc: "the value; several numbers are separated by blanks", Check: checkValue},
			{Name: "persist", Type: cty.Bool, Default: cty.True, Doc: "set it at boot too; default: true"},
			file,
			kind.EnsureAttr(),
		},
	}
}

func checkKey(v cty.Value) error {
	if !keyPattern().MatchString(v.AsString()) {
		return fmt.Errorf("%q is not a kernel setting: write words with dots between them, such as vm.swappiness",
			v.AsString())
	}
	return nil
}

func checkValue(v cty.Value) error {
	if s := v.AsString(); strings.TrimSpace(s) == "" || strings.ContainsAny(s, "\n\r\x00") {
		return fmt.Errorf("the value of a kernel setting is one line and not empty")
	}
	return nil
}

func steps(s kind.State) (kind.Output, diag.List) {
	key, file := s.Str("key"), s.Str("path")
	if file == "" {
		file = "/etc/sysctl.d/60-" + strings.ReplaceAll(key, "/", ".") + ".conf"
	}
	switch {
	case s.Absent():
		return s.One(step.Rm, []string{file})
	case !s.Given("value"):
		return kind.Output{}, diag.List{diag.Errorf(s.Range, "Missing attribute",
			"A sysctl needs value, the new value of the setting.")}
	}
	value := strings.Join(strings.Fields(s.Str("value")), " ")
	now, ds := s.One(step.Sysctl, []string{key}, step.Attr{Key: "value", Value: value})
	if ds.HasErrors() || !s.Bool("persist") {
		return now, ds
	}
	blob := kind.Inline(key + " = " + value + "\n")
	out, ds := s.One(step.Copy, []string{blob.Digest, file})
	out.Blobs = []kind.Blob{blob}
	out.Steps = append(out.Steps, now.Steps...)
	return out, ds
}
