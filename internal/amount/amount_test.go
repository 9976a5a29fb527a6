package amount_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/amount"
)

func TestParseIsInverseToString(t *testing.T) {
	for _, text := range []string{"0", "3", "25%", "100%", "0%", "999999999"} {
		if a, err := amount.Parse(text); err != nil || a.String() != text {
			t.Errorf("%s: %s, %v", text, a, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "is not a number", "%": "is not a number", "-1": "is not a number", "+3": "is not a number",
		"3.5": "is not a number", "a": "is not a number", "3 %": "is not a number", "0x3": "is not a number",
		"1000000000": "is not a number", "99999999999999999999": "is not a number", "101%": "more than 100%",
		strings.Repeat("9", 100): `"9999999999999999999999999999999999999999" is not`,
	} {
		if a, err := amount.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, a, err, want)
		}
	}
}

func TestNumbersOfTargets(t *testing.T) {
	for _, c := range []struct {
		text           string
		all, batch, of int
	}{
		{"0", 7, 7, 0}, {"0%", 7, 7, 0}, {"3", 7, 3, 3}, {"9", 7, 7, 9}, {"50%", 7, 3, 3}, {"1%", 7, 1, 0}, {"100%", 7, 7, 7},
	} {
		a, err := amount.Parse(c.text)
		if batch, of := a.Batch(c.all), a.Of(c.all); err != nil || batch != c.batch || of != c.of {
			t.Errorf("%s of %d: a batch of %d, and %d, %v, want %d and %d", c.text, c.all, batch, of, err, c.batch, c.of)
		}
	}
}

func ExampleParse() {
	a, err := amount.Parse("10%")
	fmt.Println(a.Batch(50), err)
	// Output: 5 <nil>
}

// An amount in JSON is the text of a user.
func TestText(t *testing.T) {
	type limits struct{ A, B, C amount.Amount }
	want := limits{amount.Amount{Number: 3}, amount.Amount{Number: 25, Percent: true}, amount.Amount{}}
	text, err := json.Marshal(want)
	if err != nil || string(text) != `{"A":"3","B":"25%","C":"0"}` {
		t.Fatalf("%s, %v", text, err)
	}
	var got limits
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"101%"}`), &got); err == nil {
		t.Error("101% is read")
	}
}
