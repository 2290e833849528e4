// Images of items, cut out of sheets. A sheet is decoded when one of its images is first shown.

export const createImages = (about) => {
  if (!about) return { has: false, draw: () => null };
  const { width, height, columns, per_sheet: perSheet } = about;
  const sheets = new Map();

  const sheet = (index) => {
    if (!sheets.has(index)) {
      const holder = document.getElementById(`sheet-${index}`);
      // while the page is still arriving, the sheet may not be there yet
      if (!holder) return null;
      const image = new Image();
      image.src = `data:${about.type};base64,${holder.textContent}`;
      sheets.set(index, image.decode().then(() => image));
    }
    return sheets.get(index);
  };

  return {
    has: true,
    // Draw an item's image on a canvas; one that is reused shows the item asked for last.
    draw(item, canvas) {
      canvas.width = width;
      canvas.height = height;
      canvas.dataset.item = item;
      const waiting = sheet(Math.floor(item / perSheet));
      waiting?.then((image) => {
        if (canvas.dataset.item !== String(item)) return;
        const place = item % perSheet;
        const [left, top] = [(place % columns) * width, Math.floor(place / columns) * height];
        canvas.getContext("2d").drawImage(image, left, top, width, height, 0, 0, width, height);
      });
      return canvas;
    },
    scale: Math.max(1, Math.round(112 / Math.max(width, height))),
    width,
    height,
  };
};
