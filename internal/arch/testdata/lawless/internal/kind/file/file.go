// Package file imports a floor above.
package file

import _ "fettle.dev/fettle/internal/ui/cli"
