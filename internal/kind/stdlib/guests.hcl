# Containers of systemd-nspawn. A marker next to the root, .fettle-NAME, records that fettle made the guest:
#   made SHA256 ID       unchanged since then, if no file has a newer ctime
#   released SHA256 ID   fettle stopped managing it, because it has data
#   kept SHA256 ID       managed again after that
# ID is the time of birth of the root: it shows that the root is still the one that fettle made. Guards of plans run in
# an overlay, in which directories have other inodes, so an inode is not usable.
define "guest" {
  description = "A guest of this host: a container of systemd-nspawn, made from an image, started, and optionally enrolled as a target. The target needs policy { create_guests = true }, see supervisors.md. fettle changes only guests that it made. A root is made once: a later change of the image has no effect on it. Undone partly: the guest stops; a root that never changed is removed, and a root with data stays and is no longer managed."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the guest; default: the label"
    validation {
      condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.name))
      error_message = "name is up to 63 characters of a-z, 0-9 and -, and is a valid name of a host."
    }
  }
  variable "image" {
    type        = string
    default     = null
    description = "path on the host of a tar archive with the root file system, such as download.base.path"
    validation {
      condition     = var.image == null || can(regex("^/[^\\n]+$", var.image))
      error_message = "image is the absolute path of a file on the host."
    }
  }
  variable "sha256" {
    type        = string
    default     = null
    description = "SHA-256 of the image, 64 hexadecimal digits"
    validation {
      condition     = var.sha256 == null || can(regex("^[0-9a-f]{64}$", var.sha256))
      error_message = "sha256 is 64 digits from 0 to f, as sha256sum prints them."
    }
  }
  variable "settings" {
    type        = string
    default     = ""
    description = "content of /etc/systemd/nspawn/NAME.nspawn, see systemd.nspawn(5). A change restarts the guest"
  }
  variable "hub" {
    type        = string
    default     = null
    description = "address of a hub, in which the guest enrols itself at its first start, with its name as the name of the target"
    validation {
      condition     = var.hub == null || can(regex("^https://[^\\s\"'%\\\\]+$", var.hub))
      error_message = "hub is the address of a hub, such as https://hub.example.org:7440."
    }
  }
  variable "token_file" {
    type        = string
    default     = null
    description = "path on the host of a file with a token of fettle token create --uses 1, for hub"
    validation {
      condition     = var.token_file == null || can(regex("^/[^\\n]+$", var.token_file))
      error_message = "token_file is the absolute path of a file on the host."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package systemd-container; false if another state installs it"
  }
  variable "delete_data" {
    type        = bool
    default     = false
    description = "with ensure = \"absent\": delete the root of the guest, also if it has data. This cannot be undone"
  }
  variable "ensure" {
    type        = string
    default     = "present"
    description = "present, or absent: stop the guest and delete its root. If the root has data, the run fails unless delete_data is true"
    validation {
      condition     = contains(["present", "absent"], var.ensure)
      error_message = "ensure is present or absent."
    }
    validation {
      condition     = var.ensure == "absent" || var.image != null && var.sha256 != null
      error_message = "A guest needs image and sha256."
    }
    validation {
      condition     = (var.hub == null) == (var.token_file == null)
      error_message = "hub and token_file belong together."
    }
    validation {
      condition     = var.ensure == "absent" || !var.delete_data
      error_message = "delete_data is only for ensure = \"absent\"."
    }
  }

  locals {
    here = var.ensure == "present"
    unit = "systemd-nspawn@${var.name}.service"
    # ours: the root is the one that fettle made. state, sum and id are the words of the marker.
    functions = <<-EOT
      name=$1
      cd /var/lib/machines
      state= sum= id=
      test ! -f ".fettle-$name" || read -r state sum id <".fettle-$name" || :
      mark() { printf '%s %s %s\n' "$1" "$2" "$3" >".fettle-$name.new"; mv -T ".fettle-$name.new" ".fettle-$name"; }
      ours() { test -n "$id" && test ! -L "$name" && test "$(stat -c %.9W "$name" 2>/dev/null)" = "$id"; }
      data() { test "$state" != made || test -n "$(find "$name" -cnewer ".fettle-$name" -print -quit)"; }
      EOT
  }

  package "systemd-container" {
    when = local.here && var.package
  }
  exec "root" {
    when = local.here
    name = "guest-${var.name}"
    command = ["sh", "-ec", <<-EOT
      ${local.functions}
      image=$2 want=$3 hub=$4 token=$5
      if ours; then
        case $state in released) mark kept "$sum" "$id";; esac
        exit 0
      fi
      if test -e "$name" || test -L "$name" || test -e "$name.raw"; then
        echo "the guest $name exists, and fettle did not make it: use another name, or remove it with machinectl remove $name" >&2
        exit 1
      fi
      new=.fettle-new-$name
      rm -rf --one-file-system "$new"
      echo "$want  $image" | sha256sum -c --quiet
      mkdir -m 0755 "$new"
      tar -C "$new" --numeric-owner --acls --xattrs --xattrs-include='*' -xpf "$image"
      for dir in etc $${hub:+etc/systemd etc/systemd/system usr usr/bin}; do
        if test -L "$new/$dir" || test ! -d "$new/$dir"; then echo "the image has no directory /$dir" >&2; exit 1; fi
      done
      rm -f "$new/etc/machine-id" "$new/etc/hostname"
      : >"$new/etc/machine-id"
      echo "$name" >"$new/etc/hostname"
      if test -n "$hub"; then
        if test ! -x "$new/usr/bin/fettle"; then
          command -v fettle >/dev/null || { echo "cannot enrol the guest: neither the image nor this host has fettle" >&2; exit 1; }
          install -m 0755 "$(command -v fettle)" "$new/usr/bin/fettle"
        fi
        mkdir -p "$new/etc/fettle" "$new/etc/systemd/system/multi-user.target.wants"
        test -e "$new/usr/lib/systemd/system/fettle-agent.service" || install -m 0644 /usr/lib/systemd/system/fettle-agent.service "$new/etc/systemd/system/fettle-agent.service"
        install -m 0600 "$token" "$new/etc/fettle/enrol-token"
        printf '%s\n' '[Unit]' 'Description=Enrol this host in a fleet' 'ConditionPathExists=/etc/fettle/enrol-token' \
          'Wants=network-online.target' 'After=network-online.target' 'StartLimitIntervalSec=0' '' '[Service]' 'Type=oneshot' \
          "ExecStart=/usr/bin/fettle agent enrol --hub $hub --token-file /etc/fettle/enrol-token --name $name" \
          'ExecStart=/usr/bin/rm /etc/fettle/enrol-token' \
          'ExecStart=/usr/bin/systemctl enable --now --no-block fettle-agent.service' \
          'Restart=on-failure' 'RestartSec=10s' >"$new/etc/systemd/system/fettle-enrol.service"
        ln -s ../fettle-enrol.service "$new/etc/systemd/system/multi-user.target.wants/fettle-enrol.service"
      fi
      sync -f "$new"
      id=$(stat -c %.9W "$new")
      case $id in 0.*|0|-*) echo "the file system of /var/lib/machines has no times of birth, by which fettle recognizes a guest" >&2; exit 1;; esac
      mark making "$want" "$id"
      mv -T "$new" "$name"
      mark made "$want" "$id"
      EOT
    , "guest", var.name, coalesce(var.image, "-"), coalesce(var.sha256, "-"), var.hub == null ? "" : var.hub, var.token_file == null ? "" : var.token_file]
    unless = ["sh", "-ec", "${local.functions}\nours; case $state in making|made|kept) ;; *) exit 1;; esac", "guest", var.name]
    undo = ["sh", "-ec", <<-EOT
      ${local.functions}
      if ! ours; then
        rm -rf --one-file-system ".fettle-new-$name"
        test -e "$name" || rm -f ".fettle-$name"
        exit 0
      fi
      if test -e "/run/systemd/machines/$name" || data; then
        mark released "$sum" "$id"
        echo "the guest $name has data: its root /var/lib/machines/$name stays and is no longer managed"
        exit 0
      fi
      mv -T "$name" ".fettle-new-$name"
      rm -rf --one-file-system ".fettle-new-$name"
      rm -f ".fettle-$name"
      EOT
    , "guest", var.name]
    timeout = "30m"
    after   = [package.systemd-container]
  }
  # Before the guest is stopped: it may be the guest of another owner.
  exec "owner" {
    when = !local.here
    name = "guest-${var.name}-is-managed"
    command = ["sh", "-ec", <<-EOT
      ${local.functions}
      ours && exit 0
      echo "fettle did not make the guest $name, so it does not change or delete it. To delete it: machinectl remove $name" >&2
      exit 1
      EOT
    , "guest", var.name]
    unless = ["sh", "-ec", "cd /var/lib/machines 2>/dev/null || exit 0\ntest -e \"$1\" || test -L \"$1\" || exit 0\n${local.functions}\nours", "guest", var.name]
    undo   = ["true"]
  }
  unit "stopped" {
    when    = !local.here
    name    = local.unit
    running = false
    enabled = false
    after   = [exec.owner]
  }
  directory "settings" {
    when = trimspace(var.settings) != ""
    path = "/etc/systemd/nspawn"
  }
  file "settings" {
    when    = trimspace(var.settings) != "" || !local.here
    path    = "/etc/systemd/nspawn/${var.name}.nspawn"
    content = local.here ? "${chomp(var.settings)}\n" : null
    ensure  = var.ensure
    after   = [exec.root, unit.stopped, directory.settings]
  }
  unit "guest" {
    when    = local.here
    name    = local.unit
    enabled = true
    running = true
    timeout = "5m"
    after   = [exec.root, file.settings]
    listen  = { restart = [file.settings] }
  }
  exec "delete" {
    when = !local.here
    name = var.delete_data ? "delete-guest-${var.name}-with-its-data" : "delete-guest-${var.name}"
    command = ["sh", "-ec", <<-EOT
      ${local.functions}
      old=.fettle-old-$name
      if test -e "$name" || test -L "$name"; then
        ours || { echo "fettle did not make the guest $name, so it does not delete it" >&2; exit 1; }
        if test -e "/run/systemd/machines/$name"; then echo "the guest $name still runs" >&2; exit 1; fi
        if test "$2" != true && data; then
          echo "the guest $name has data in /var/lib/machines/$name. To delete it with its data, set delete_data = true" >&2
          exit 1
        fi
        mv -T "$name" "$old"
      fi
      rm -rf --one-file-system "$old" ".fettle-new-$name"
      rm -f ".fettle-$name"
      EOT
    , "guest", var.name, tostring(var.delete_data)]
    unless  = ["sh", "-c", "cd /var/lib/machines 2>/dev/null || exit 0; test ! -e \"$1\" && test ! -L \"$1\" && test ! -e \".fettle-old-$1\" && test ! -e \".fettle-new-$1\"", "guest", var.name]
    timeout = "30m"
    after   = [unit.stopped, file.settings]
  }
}
