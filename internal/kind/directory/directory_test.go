package directory_test

import (
	"testing"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/directory"
	"fettle.dev/fettle/internal/kind/kindtest"
)

func TestGolden(t *testing.T) {
	kinds := []kind.Kind{directory.Kind()}
	kindtest.Documented(t, kinds)
	kindtest.Run(t, kindtest.Options{Kinds: kinds})
}
