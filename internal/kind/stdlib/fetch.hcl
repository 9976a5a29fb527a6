# What comes from elsewhere. Neither is in the repository: the history of the
# repository says which digest it was, and not what was in it.
define "download" {
  description = "A file from the network, by curl and checked by its digest. Neither the repository nor fettle's record contains it, so a rollback downloads it again. For a reliable rollback use file with source. Undone partly: the file is removed; a previous file is not restored."
  main        = "path"

  variable "path" {
    type        = string
    description = "path of the file; default: the label"
    validation {
      condition     = can(regex("^/[^\\n]*[^/\\n]$", var.path))
      error_message = "path is the absolute path of a file."
    }
  }
  variable "url" {
    type        = string
    default     = null
    description = "source address: https, http or file"
    validation {
      condition     = var.url == null || can(regex("^(https?|file)://[^\\s]+$", var.url))
      error_message = "url begins with https://, http:// or file://."
    }
  }
  variable "sha256" {
    type        = string
    default     = null
    description = "its SHA-256, 64 hexadecimal digits"
    validation {
      condition     = var.sha256 == null || can(regex("^[0-9a-f]{64}$", var.sha256))
      error_message = "sha256 is 64 digits from 0 to f, as sha256sum prints them."
    }
  }
  variable "mode" {
    type        = string
    default     = "0644"
    description = "permission bits; default: 0644; the owner is root"
    validation {
      condition     = can(regex("^[0-7]{3,4}$", var.mode))
      error_message = "mode is three or four octal digits."
    }
  }
  variable "timeout" {
    type        = string
    default     = "10m"
    description = "time limit; default: 10m"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package curl, and ca-certificates for https; false if another state installs it"
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
      condition     = var.ensure == "absent" || var.url != null && var.sha256 != null
      error_message = "A download needs url and sha256."
    }
    # Here, as a message shows the value of its own variable.
    validation {
      condition     = !can(regex("^https?://[^/]*@", coalesce(var.url, "-")))
      error_message = "url holds a password, and would stand in lists and logs. Put it into /root/.netrc, where curl finds it."
    }
  }

  locals {
    here = var.ensure == "present"
    url  = coalesce(var.url, "-")
    sum  = coalesce(var.sha256, "-")
  }

  # The file gets its name when it is whole and right.
  package "curl" {
    when = local.here && var.package
  }
  package "ca-certificates" {
    when = local.here && var.package && startswith(local.url, "https:")
  }
  exec "fetch" {
    when    = local.here
    name    = "download-${var.path}"
    command = ["sh", "-ec", "new=\"$2.fettle-new\"; trap 'rm -f \"$new\"' EXIT; curl --netrc-optional -fsSL --retry 3 -o \"$new\" -- \"$1\"; echo \"$3  $new\" | sha256sum -c --quiet; chown root:root \"$new\"; chmod \"$4\" \"$new\"; mv \"$new\" \"$2\"", "download", local.url, var.path, local.sum, var.mode]
    unless  = ["sh", "-c", "echo \"$2  $1\" | sha256sum -c --status && test \"$(stat -c 0%a:%u:%g \"$1\")\" = \"0${trimprefix(var.mode, "0")}:0:0\"", "download", var.path, local.sum]
    undo    = ["rm", "-f", var.path]
    after   = [package.curl, package.ca-certificates]
    timeout = var.timeout
  }
  file "gone" {
    when   = !local.here
    path   = var.path
    ensure = "absent"
  }
}

define "archive" {
  description = "A tar or zip archive on the host, such as one of file or download, unpacked atomically into a new directory. An existing path counts as unpacked. For another version use another path, and a link to it. For a tree of the module use directory with source, which manages each entry. Undone completely: the unpacked files are removed, and the directory if it is empty then."
  main        = "path"

  variable "path" {
    type        = string
    description = "the directory; its parent must exist; default: the label"
    validation {
      condition     = can(regex("^/[^\\n]*[^/\\n]$", var.path))
      error_message = "path is the absolute path of a directory."
    }
  }
  variable "archive" {
    type        = string
    default     = null
    description = "the archive's path, such as file.shop.path or download.shop.path. A name that ends in .zip, .jar or .war is a zip archive; tar unpacks all others and detects their compression. With source, the place of the copy; default: PATH.archive"
    validation {
      condition     = var.archive == null || can(regex("^/[^\\n]+$", var.archive))
      error_message = "archive is the absolute path of a file on the host."
    }
  }
  variable "source" {
    type        = string
    default     = null
    description = "an archive of the module that is copied to the host first"
    validation {
      condition     = var.archive != null || var.source != null
      error_message = "An archive needs archive, a file of the host, or source, a file of the module."
    }
  }
  variable "strip" {
    type        = number
    default     = 0
    description = "number of leading directories that are removed from names; 1 for most sources"
    validation {
      condition     = can(regex("^[0-9]$", tostring(var.strip)))
      error_message = "strip is a whole number from 0 to 9."
    }
  }
  variable "owner" {
    type        = string
    default     = "root"
    description = "owner of all files"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.owner))
      error_message = "owner is the name of a user."
    }
  }
  variable "group" {
    type        = string
    default     = "root"
    description = "Unix group of all files"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.group))
      error_message = "group is the name of a group."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package that unpacks it: libarchive-tools for zip, xz-utils, bzip2, zstd or lzip by the end of the name; false if another state installs it"
  }

  locals {
    archive = coalesce(var.archive, "${var.path}.archive")
    name    = lower(coalesce(var.archive, var.source, "-"))
    zip     = can(regex("[.](zip|jar|war)$", local.name))
    packed  = try(regex("[.]t?(xz|bz2|bz|zst|lz)$", local.name)[0], local.zip ? "zip" : "")
    program = lookup({ zip = "libarchive-tools", xz = "xz-utils", bz2 = "bzip2", bz = "bzip2", zst = "zstd", lz = "lzip" }, local.packed, "")
    # bsdtar takes the options of tar, but lists names as they are in the archive.
    unpack = local.zip ? "bsdtar" : "tar"
    list   = local.zip ? "bsdtar -tf \"$1\" | cut -d/ -f$(($3 + 1))- ${var.strip > 0 ? "-s" : ""}" : "tar --strip-components=\"$3\" --show-transformed-names -tf \"$1\""
  }

  file "packed" {
    when   = var.source != null
    path   = local.archive
    source = var.source
  }
  package "program" {
    when = var.package && local.program != ""
    name = local.program
  }
  exec "unpack" {
    name    = "archive-${var.path}"
    command = ["sh", "-ec", "new=\"$2.fettle-new\"; rm -rf \"$new\"; mkdir -m 0755 \"$new\"; ${local.unpack} -C \"$new\" --strip-components=\"$3\" --no-same-owner -xf \"$1\"; chown -hR \"$4\" \"$new\"; mv -T \"$new\" \"$2\"", "archive", local.archive, var.path, tostring(var.strip), "${var.owner}:${var.group}"]
    creates = var.path
    after   = [file.packed, package.program]
    undo    = ["sh", "-ec", "${local.unpack} -tf \"$1\" >/dev/null; cd \"$2\"; ${local.list} | sort -r | while IFS= read -r name; do case \"$name\" in */) rmdir -- \"$name\" 2>/dev/null || :;; ?*) rm -f -- \"$name\";; esac; done; cd /; rmdir --ignore-fail-on-non-empty \"$2\"", "archive", local.archive, var.path, tostring(var.strip)]
    timeout = "30m"
  }
}
