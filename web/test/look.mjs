// Opens a page as the tests do, prints it as it is once its script ran, and takes a picture: look.mjs PAGE PICTURE.
import { launch, open } from "./browser.mjs";

const [url, picture] = process.argv.slice(2);
const { browser, close } = await launch();
try {
  const { page } = await open(browser, url, { viewport: { width: 1280, height: 4000 } });
  console.log(await page.content());
  await page.screenshot({ path: picture });
} finally {
  await close();
}
