package journal_test

import (
	"testing"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// TestStepsKeepTheirText: bytes that are not UTF-8 do not change the text of a step beside them.
func TestStepsKeepTheirText(t *testing.T) {
	type holder struct {
		Path string    `json:"path"`
		Step step.Step `json:"step"`
	}
	const want = "{\"path\":\"/\U0010fffe\",\"step\":\"EDIT /x line=\\\"\\\\x80 \\\\U0010ff80\\\"\"}"
	edit := must(step.New(step.Edit, []string{"/x"}, step.Attr{Key: "line", Value: "\x80 \U0010ff80"}))(t)
	in := holder{Path: "/\xfe", Step: edit}
	b := must(journal.Marshal(in))(t)
	if string(b) != want {
		t.Errorf("wrote %s, want %s", b, want)
	}
	var back holder
	check(t, journal.Unmarshal(b, &back))
	if line := back.Step.Get("line"); back.Path != in.Path || line != "\x80 \U0010ff80" || !back.Step.Same(in.Step) {
		t.Errorf("read %q %q %q", back.Path, line, back.Step)
	}
}
