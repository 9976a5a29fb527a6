package hub

import "testing"

func TestRetentionIsChecked(t *testing.T) {
	if (Retention{Log: -1}).check() == nil || (Retention{}).check() != nil {
		t.Error("it is not checked")
	}
}
