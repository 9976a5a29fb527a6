package plot

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestNewCourse draws a rollout of four targets that took 100 seconds, with a wave that begins after 50 seconds.
func TestNewCourse(t *testing.T) {
	d := &document.RolloutCourse{Targets: 4, Span: 1,
		Points: []document.RolloutPoint{{At: 1000}, {At: 1010, Granted: 1}, {At: 1050, Granted: 2, Ready: 1},
			{At: 1100, Granted: 4, Ready: 3, Failed: 1}},
		Marks: []document.RolloutMark{{At: 1050, Text: "wave rest"}, {At: 1051, Text: "paused"},
			{At: 1100, Text: "completed-with-exceptions"}}}
	c := NewCourse(d, 1090)
	if c.Granted != "M0 102H56V78H280V53H560V4H560" || c.Ready != "M0 102H56V102H280V78H560V29H560" ||
		c.Failed != "M0 102H56V102H280V102H560V78H560" {
		t.Errorf("granted %s, ready %s, failed %s", c.Granted, c.Ready, c.Failed)
	}
	if !slices.Equal(c.Marks, []Mark{{280, "1"}, {285, ""}, {560, ""}}) {
		t.Errorf("the marks are %+v", c.Marks)
	}
	if len(c.Labels) != 3 || c.Labels[2] != (Label{504, "1m30s"}) || c.Took != "1m40s" || c.Top != 4 {
		t.Errorf("the labels are %+v, the end %s and %d", c.Labels, c.Took, c.Top)
	}
	want := []Row{{"0s", "", "began", 0, 0, 0}, {"10s", "", "", 1, 0, 0}, {"50s", "", "", 2, 1, 0},
		{"50s", "1", "wave rest", 2, 1, 0}, {"51s", "2", "paused", 2, 1, 0}, {"1m40s", "", "", 4, 3, 1},
		{"1m40s", "3", "completed-with-exceptions", 4, 3, 1}}
	if !slices.Equal(c.Rows, want) {
		t.Errorf("the rows are %+v", c.Rows)
	}
}

// TestOddCourses: a course of a moment, of strange numbers, or of many years is drawn in few elements; there is none
// without points.
func TestOddCourses(t *testing.T) {
	if NewCourse(nil, 5) != nil || NewCourse(&document.RolloutCourse{}, 5) != nil {
		t.Error("there is a course without points")
	}
	for name, d := range map[string]*document.RolloutCourse{
		"a moment":  {Points: []document.RolloutPoint{{At: 7}}},
		"backwards": {Points: []document.RolloutPoint{{At: 9, Granted: 5}, {At: 3}}, Marks: []document.RolloutMark{{At: 1}}},
		"years":     {Targets: 1, Points: []document.RolloutPoint{{At: 0}, {At: 1e9, Ready: 1}}},
	} {
		c := NewCourse(d, 8)
		if len(c.Labels) > 7 || len(c.Rows) > mostRows+1 || c.Top < 1 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
