# File systems and swap space. Both are units and not lines of /etc/fstab: a unit
# is a file of its own, which nobody else writes, systemd knows it at once, and
# unmounting is the inverse of its step.
define "mount" {
  description = "A file system that is mounted now and at boot: a .mount unit in /etc/systemd/system, which has precedence over /etc/fstab, and the directory if it does not exist. The parent directory must exist. A change mounts the file system again, and fails while it is in use. With ensure = \"absent\" the directory stays. Undone completely: it is unmounted, and the directory is removed if fettle created it and it is empty."
  main        = "path"

  variable "path" {
    type        = string
    description = "mount point; default: the label"
    validation {
      condition     = can(regex("^(/[A-Za-z0-9_:-][A-Za-z0-9_.:-]*)+$", var.path))
      error_message = "path is absolute, and its parts are letters, digits, _, ., : and -, and do not begin with a dot."
    }
  }
  variable "what" {
    type        = string
    default     = null
    description = "source: a device such as UUID=… or /dev/vdb1, HOST:/path, or tmpfs"
    validation {
      condition     = var.what == null || can(regex("^[^\\s]+$", var.what))
      error_message = "what is one word, such as UUID=0a3407de-014b-458b-b5c1-848e92a327a3 or nas:/export/home."
    }
  }
  variable "type" {
    type        = string
    default     = null
    description = "kind of file system, such as ext4, nfs or tmpfs; default: detected"
    validation {
      condition     = var.type == null || can(regex("^[a-z0-9][a-z0-9._-]*$", var.type))
      error_message = "type is a kind of file system, such as ext4, nfs or tmpfs."
    }
  }
  variable "options" {
    type        = list(string)
    default     = []
    description = "options, such as noatime or size=1G"
    validation {
      condition     = length([for o in var.options : o if !can(regex("^[^\\s,]+$", o))]) == 0
      error_message = "options are words without blanks and commas, one an entry of the list."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package that mounts file systems of the type, such as nfs-common; false if another state installs it"
  }
  variable "ensure" {
    type        = string
    default     = "present"
    description = "present or absent"
    validation {
      condition     = contains(["present", "absent"], var.ensure)
      error_message = "ensure is present or absent."
    }
    validation {
      condition     = var.ensure == "absent" || var.what != null
      error_message = "A mount needs what: the device, server path or tmpfs that is mounted."
    }
  }

  locals {
    here    = var.ensure == "present"
    unit    = "${replace(replace(trimprefix(var.path, "/"), "-", "\\x2d"), "/", "-")}.mount"
    network = contains(["nfs", "nfs4", "cifs", "ceph", "glusterfs", "9p", "fuse.sshfs"], coalesce(var.type, "-"))
    # Programs that mount(8) calls for types that the kernel does not mount alone.
    helper = lookup({ nfs = "nfs-common", nfs4 = "nfs-common", cifs = "cifs-utils", ceph = "ceph-common", glusterfs = "glusterfs-client", "fuse.sshfs" = "sshfs", "ntfs-3g" = "ntfs-3g" }, coalesce(var.type, "-"), "")
    lines = concat(
      ["# managed by fettle", "[Unit]", "Description=${var.path}", "", "[Mount]", "What=${replace(coalesce(var.what, "-"), "%", "%%")}", "Where=${var.path}"],
      var.type != null ? ["Type=${var.type}"] : [],
      length(var.options) > 0 ? ["Options=${replace(join(",", var.options), "%", "%%")}"] : [],
      ["", "[Install]", "WantedBy=${local.network ? "remote-fs.target" : "local-fs.target"}"],
    )
  }

  package "helper" {
    when = local.here && var.package && local.helper != ""
    name = local.helper
  }
  # With ensure = "absent" this is undone while it is still mounted.
  exec "directory" {
    when    = local.here
    name    = "mount-directory-${var.path}"
    command = ["mkdir", "-m", "0755", var.path]
    creates = var.path
    undo    = ["sh", "-c", "mountpoint -q \"$1\" || exec rmdir --ignore-fail-on-non-empty \"$1\"", "mount", var.path]
  }
  unit "stopped" {
    when    = !local.here
    name    = local.unit
    enabled = false
    running = false
  }
  file "unit" {
    path    = "/etc/systemd/system/${local.unit}"
    content = local.here ? "${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
    after   = [exec.directory, unit.stopped]
    notify  = [unit.mount.restart]
  }
  unit "mount" {
    when    = local.here
    name    = local.unit
    enabled = true
    running = true
    after   = [file.unit, package.helper]
  }
}

define "swap" {
  description = "A swap file: created once, used now and at each boot by a .swap unit. An existing file keeps its size: for another size use another path. btrfs is not supported, because its swap files need more settings. With ensure = \"absent\" a file that is in use is disabled, but stays. Undone completely: it is disabled, and the file is removed if fettle created it."
  main        = "path"

  variable "path" {
    type        = string
    description = "the file; default: the label"
    validation {
      condition     = can(regex("^(/[A-Za-z0-9_:-][A-Za-z0-9_.:-]*)+$", var.path))
      error_message = "path is absolute, and its parts are letters, digits, _, ., : and -, and do not begin with a dot."
    }
  }
  variable "size" {
    type        = string
    default     = null
    description = "a size such as 512MiB or 2GiB"
    validation {
      condition     = var.size == null || can(regex("^[1-9][0-9]*[MGT](iB|B)?$", var.size))
      error_message = "size is a whole number with its unit, such as 512MiB or 2GiB."
    }
  }
  variable "priority" {
    type        = number
    default     = null
    description = "order of swap spaces: higher priorities are used first; default: the kernel's choice"
    validation {
      condition     = var.priority == null || can(regex("^[0-9]{1,5}$", tostring(var.priority)))
      error_message = "priority is a whole number from 0 to 32767."
    }
  }
  variable "running" {
    type        = bool
    default     = true
    description = "in use now; false enables it at the next boot, for a container that may not swap"
  }
  variable "ensure" {
    type        = string
    default     = "present"
    description = "present or absent"
    validation {
      condition     = contains(["present", "absent"], var.ensure)
      error_message = "ensure is present or absent."
    }
    validation {
      condition     = var.ensure == "absent" || var.size != null
      error_message = "A swap needs size, such as \"2GiB\"."
    }
  }

  locals {
    here = var.ensure == "present"
    unit = "${replace(replace(trimprefix(var.path, "/"), "-", "\\x2d"), "/", "-")}.swap"
    lines = concat(
      ["# managed by fettle", "[Unit]", "Description=${var.path}", "", "[Swap]", "What=${var.path}"],
      var.priority != null ? ["Priority=${var.priority}"] : [],
      ["", "[Install]", "WantedBy=swap.target"],
    )
  }

  # The file gets its name when it is whole, so that a crash leaves none that is half made.
  exec "make" {
    when    = local.here
    name    = "swap-${var.path}"
    command = ["sh", "-ec", "umask 077; rm -f \"$1.new\"; fallocate -l \"$2\" \"$1.new\"; mkswap \"$1.new\"; mv \"$1.new\" \"$1\"", "swap", var.path, coalesce(var.size, "-")]
    creates = var.path
    undo    = ["sh", "-c", "grep -q \"^$1 \" /proc/swaps || exec rm -f \"$1\"", "swap", var.path]
  }
  unit "stopped" {
    when    = !local.here
    name    = local.unit
    enabled = false
    running = false
  }
  file "unit" {
    path    = "/etc/systemd/system/${local.unit}"
    content = local.here ? "${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
    after   = [exec.make, unit.stopped]
  }
  unit "swap" {
    when    = local.here
    name    = local.unit
    enabled = true
    running = var.running ? true : null
    after   = [file.unit]
  }
}
