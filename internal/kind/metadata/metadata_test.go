package metadata_test

import (
	"testing"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/kindtest"
	"fettle.dev/fettle/internal/kind/metadata"
)

func TestGolden(t *testing.T) {
	kindtest.Run(t, kindtest.Options{Kinds: []kind.Kind{metadata.Kind()}})
	kindtest.Documented(t, []kind.Kind{metadata.Kind()})
}
