# A drop-in for a systemd unit: settings beside the ones of its package.
define "unit_override" {
  description = "Additional settings of a systemd unit. systemd reads them at once; a running service uses them after its restart. Undone completely."
  main        = "unit"

  variable "unit" {
    type        = string
    description = "the unit with its suffix, such as nginx.service"
  }
  variable "name" {
    type        = string
    default     = "fettle"
    description = "file name of the drop-in, without .conf"
  }
  variable "content" {
    type        = string
    description = "text of the drop-in"
  }

  directory "dir" {
    path = "/etc/systemd/system/${var.unit}.d"
  }
  file "conf" {
    path    = "${directory.dir.path}/${var.name}.conf"
    content = var.content
  }
}
