package document

import (
	"reflect"
	"testing"
)

// TestRecipient gives each channel of a rule settings, so that a channel without a recipient is found.
func TestRecipient(t *testing.T) {
	want := map[string]string{"Webhook": "https://example.org/x", "Mail": "a@example.org,b@example.org",
		"Command": "page --now"}
	all := Notification{
		Webhook: &Webhook{URL: "https://example.org/x"},
		Mail:    &Mail{To: []string{"a@example.org", "b@example.org"}},
		Command: &Command{Program: "page", Args: []string{"--now"}},
	}
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Notification]()) {
		if f.Type.Kind() != reflect.Pointer {
			continue
		}
		var r Notification
		reflect.ValueOf(&r).Elem().Field(i).Set(reflect.ValueOf(all).Field(i))
		if got := r.Recipient(); got != want[f.Name] || got == "" {
			t.Errorf("a rule with a %s sends to %q, want %q", f.Name, got, want[f.Name])
		}
	}
	if got := (Notification{Webhook: &Webhook{File: "url"}}).Recipient(); got != "URL in url" {
		t.Errorf("a rule with the file of a URL sends to %q", got)
	}
	if got := (Notification{}).Recipient(); got != "" {
		t.Errorf("a rule without a channel sends to %q", got)
	}
}
