"""What is filled in: the values of form fields, which are no part of a page's own text."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import pypdfium2
import pypdfium2.raw as pdfium

_PASSWORD = 1 << 13  # field flag: the value is secret
_BUTTONS = {pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON}
_VALUED = {
    pdfium.FPDF_FORMFIELD_TEXTFIELD,
    pdfium.FPDF_FORMFIELD_COMBOBOX,
    pdfium.FPDF_FORMFIELD_LISTBOX,
}
_MOST_FIELDS = 2_000  # of one page


def field_values(page: pypdfium2.PdfPage, form: pypdfium2.PdfFormEnv) -> list[str]:
    """`label: value` of every filled field of a page, each once; a ticked box has the value of its tick."""
    return list(dict.fromkeys(_values(page, form)))


def _values(page: pypdfium2.PdfPage, form: pypdfium2.PdfFormEnv) -> Iterator[str]:
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_FIELDS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_WIDGET:
                value = _value(annotation, form)
                if value:
                    yield f"{_label(annotation, form)}: {value}"
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _value(annotation: object, form: pypdfium2.PdfFormEnv) -> str:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _BUTTONS:
        if not pdfium.FPDFAnnot_IsChecked(form, annotation):
            return ""
        return _string(pdfium.FPDFAnnot_GetFormFieldExportValue, form, annotation) or "yes"
    if kind not in _VALUED or pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return ""
    return _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)


def _label(annotation: object, form: pypdfium2.PdfFormEnv) -> str:
    return (
        _string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
        or _string(pdfium.FPDFAnnot_GetFormFieldName, form, annotation)
        or "Field"
    )


def _string(get: Callable[..., int], form: pypdfium2.PdfFormEnv, annotation: object) -> str:
    """A string by pdfium's way: asked for its size first, then for its UTF-16."""
    size = get(form, annotation, None, 0)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    get(form, annotation, buffer, size)
    return " ".join(bytes(buffer)[:-2].decode("utf-16-le", "replace").split())
