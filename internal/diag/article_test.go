package diag_test

import (
	"testing"

	"fettle.dev/fettle/internal/diag"
)

func TestOne(t *testing.T) {
	for name, want := range map[string]string{
		"file": "a file", "exec": "an exec", "ini_key": "an ini_key", "user": "a user", "unit": "a unit",
		"service":          "a service",
		"x509_certificate": "an x509_certificate", "ssh_known_host": "an ssh_known_host", "nftables": "an nftables",
		"object": "an object", "string": "a string", "": "a ",
	} {
		if got := diag.One(name); got != want {
			t.Errorf("One(%q) is %q, and is to be %q", name, got, want)
		}
		if got, want := diag.FirstOne(name), "A"+want[1:]; got != want {
			t.Errorf("FirstOne(%q) is %q", name, got)
		}
	}
}
