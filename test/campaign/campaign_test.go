package campaign_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/test/campaign"
)

func ExampleMerge() {
	text := campaign.Merge("", campaign.Campaign{Name: "Power cut", Variant: "ext4", Points: 900, Hit: 850,
		Detail: "cut | replayed"})
	text = campaign.Merge(text, campaign.Campaign{Name: "Kill", Points: 70, Hit: 70})
	text = campaign.Merge(text, campaign.Campaign{Name: "Power cut", Variant: "btrfs", Points: 300, Hit: 290})
	text = campaign.Merge(text, campaign.Campaign{Name: "Power cut", Variant: "ext4", Points: 1000, Hit: 950,
		Detail: "cut | replayed"})
	_, tables, _ := strings.Cut(text, "\n## ")
	fmt.Print("## " + tables)
	// Output:
	// ## Kill
	//
	// | variant | points | in the run | lost | test |
	// |---|---:|---:|---:|---|
	// | all | 70 | 70 | 0 |  |
	//
	// ## Power cut
	//
	// | variant | points | in the run | lost | test |
	// |---|---:|---:|---:|---|
	// | btrfs | 300 | 290 | 0 |  |
	// | ext4 | 1000 | 950 | 0 | cut \| replayed |
}

// TestOrder: the order of the results makes no difference.
func TestOrder(t *testing.T) {
	a, b := campaign.Campaign{Name: "B", Variant: "x"}, campaign.Campaign{Name: "A", Variant: "y"}
	if one, two := campaign.Merge(campaign.Merge("", a), b), campaign.Merge(campaign.Merge("", b), a); one != two {
		t.Fatalf("%s\n--\n%s", one, two)
	}
}

func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "campaigns.md")
	t.Setenv(campaign.EnvFile, file)
	campaign.Record(t, campaign.Campaign{Name: "Kill", Variant: "a", Points: 3})
	campaign.Record(t, campaign.Campaign{Name: "Kill", Variant: "b", Points: 4})
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "| a | 3 | 0 | 0 |") ||
		!strings.Contains(string(text), "| b | 4 | 0 | 0 |") {
		t.Fatalf("%v\n%s", err, text)
	}
}
