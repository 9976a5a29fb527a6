package accountfile

import (
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// useradd and groupadd write passwd and group first. A power cut after that
// leaves an account that looks as wanted and has no line in the other files;
// whoever sets it once more gets those lines.

// completeGroup gives a group the line in gshadow that it lacks.
func (e *edit) completeGroup(name string) error {
	e.addMissing(GShadow, name, name+":!::")
	return nil
}

// completeUser gives a user its line in shadow and its own group where they are
// missing: with the number that the user's line names already.
func (e *edit) completeUser(name string, to image.User, create host.NewUser) error {
	e.addMissing(Shadow, name, name+":!:19000:0:99999:7:::")
	gid := number(to.GID)
	if (create.OwnGroup || create.AutoUID && to.GID == 0) && e.groupOf(gid) == "" {
		e.addMissing(Group, name, name+":x:"+gid+":")
		e.addMissing(GShadow, name, name+":!::")
	}
	return nil
}

// addMissing adds a line to a file that is there and has none for the name.
func (e *edit) addMissing(file, name, line string) {
	if _, ok := e.now[file].first(name); !ok && !e.gone[file] {
		e.now[file] = e.now[file].with(name, line, "")
	}
}
